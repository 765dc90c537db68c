package org.olu.voice

import android.app.Activity
import android.content.Intent
import android.os.Bundle
import android.widget.Button

/** One button: the system's settings for speech, where the voice is chosen. */
class MainActivity : Activity() {
    override fun onCreate(state: Bundle?) {
        super.onCreate(state)
        setContentView(Button(this).apply {
            setText(R.string.choose)
            setOnClickListener { startActivity(Intent("com.android.settings.TTS_SETTINGS")) }
        })
    }
}

/** The system asks whether the voice's data are there: they are part of the app. */
class CheckVoiceData : Activity() {
    override fun onCreate(state: Bundle?) {
        super.onCreate(state)
        val language = VoiceFacts.of(assets).language
        val answer = Intent().putStringArrayListExtra("availableVoices", arrayListOf(language)).putStringArrayListExtra("unavailableVoices", arrayListOf())
        setResult(1, answer) // TextToSpeech.Engine.CHECK_VOICE_DATA_PASS
        finish()
    }
}
