package org.olu.voice

import android.media.AudioFormat
import android.speech.tts.SynthesisCallback
import android.speech.tts.SynthesisRequest
import android.speech.tts.TextToSpeech
import android.speech.tts.TextToSpeechService
import com.k2fsa.sherpa.onnx.OfflineTts
import com.k2fsa.sherpa.onnx.OfflineTtsConfig
import com.k2fsa.sherpa.onnx.OfflineTtsModelConfig
import com.k2fsa.sherpa.onnx.OfflineTtsVitsModelConfig

/** The voice as an engine of the system: texts are read by reading.js, and sherpa-onnx makes sound of the ids. */
class OluTtsService : TextToSpeechService() {
    private lateinit var facts: VoiceFacts
    private var reading: Reading? = null // none where the system's WebView is too old for it
    private lateinit var engine: OfflineTts
    @Volatile private var stopped = false

    override fun onCreate() {
        facts = VoiceFacts.of(assets)
        reading = Reading.open(this)
        val vits = OfflineTtsVitsModelConfig(
            model = "voice/model.onnx",
            tokens = "voice/tokens.txt",
            noiseScale = facts.noise,
            noiseScaleW = facts.durationNoise,
            lengthScale = facts.lengthScale,
        )
        val model = OfflineTtsModelConfig(vits = vits, numThreads = 2)
        engine = OfflineTts(assets, OfflineTtsConfig(model = model, silenceScale = 1f)) // else pauses are shortened
        super.onCreate() // it asks for the language at once
    }

    override fun onDestroy() {
        super.onDestroy()
        reading?.close()
        engine.release()
    }

    override fun onIsLanguageAvailable(language: String?, country: String?, variant: String?): Int =
        if (language == facts.language || language == facts.shortLanguage) TextToSpeech.LANG_AVAILABLE
        else TextToSpeech.LANG_NOT_SUPPORTED

    override fun onLoadLanguage(language: String?, country: String?, variant: String?): Int =
        onIsLanguageAvailable(language, country, variant)

    override fun onGetLanguage(): Array<String> = arrayOf(facts.language, "", "")

    override fun onStop() {
        stopped = true
    }

    override fun onSynthesizeText(request: SynthesisRequest, callback: SynthesisCallback) {
        stopped = false
        if (onIsLanguageAvailable(request.language, request.country, request.variant) < TextToSpeech.LANG_AVAILABLE) {
            callback.error(TextToSpeech.ERROR_INVALID_REQUEST)
            return
        }
        val reading = reading
        if (reading == null) {
            callback.error(TextToSpeech.ERROR_SERVICE)
            return
        }
        callback.start(facts.rate, AudioFormat.ENCODING_PCM_16BIT, 1)
        try {
            var first = true
            for (line in reading.read(request.charSequenceText.toString())) {
                if (stopped) break
                if (!first || line.pause > 0f) put(callback, FloatArray(((line.pause.takeIf { it >= 0f } ?: 0.25f) * facts.rate).toInt()))
                val sound = engine.generate(text = line.tokens(), sid = 0, speed = request.speechRate / 100f)
                put(callback, sound.samples)
                first = false
            }
            callback.done()
        } catch (bad: ReadingException) { // such as markup that is wrong
            callback.error(TextToSpeech.ERROR_INVALID_REQUEST)
        }
    }

    private fun put(callback: SynthesisCallback, samples: FloatArray) {
        val bytes = ByteArray(2 * samples.size)
        for ((at, sample) in samples.withIndex()) {
            val value = (sample.coerceIn(-1f, 1f) * 32767f).toInt()
            bytes[2 * at] = value.toByte()
            bytes[2 * at + 1] = (value shr 8).toByte()
        }
        var at = 0
        while (at < bytes.size && !stopped) {
            val size = minOf(callback.maxBufferSize, bytes.size - at)
            callback.audioAvailable(bytes, at, size)
            at += size
        }
    }
}
