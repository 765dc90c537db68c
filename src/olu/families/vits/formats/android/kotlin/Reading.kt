package org.olu.voice

import android.content.Context
import android.content.res.AssetManager
import androidx.javascriptengine.JavaScriptIsolate
import androidx.javascriptengine.JavaScriptSandbox
import org.json.JSONArray
import org.json.JSONObject
import java.util.concurrent.ExecutionException

class ReadingException(message: String) : Exception(message)

/** A line of a text: its ids, and the seconds of silence before it (-1: as between any two sentences). */
class ReadLine(val ids: IntArray, val pause: Float) {
    /** The ids as sherpa-onnx takes them: one character of the private use area each, which tokens.txt has. */
    fun tokens(): String = ids.joinToString("") { String(Character.toChars(FIRST + it)) }

    companion object {
        const val FIRST = 0xE000
    }
}

class VoiceFacts(
    val language: String, val shortLanguage: String, val rate: Int,
    val noise: Float, val durationNoise: Float, val lengthScale: Float,
) {
    companion object {
        fun of(assets: AssetManager): VoiceFacts {
            val row = JSONObject(assets.open("voice/voice.json").bufferedReader().readText())
            return VoiceFacts(
                row.getString("language"), row.getString("short_language"), row.getInt("rate"),
                row.getDouble("noise").toFloat(), row.getDouble("duration_noise").toFloat(), row.getDouble("length_scale").toFloat(),
            )
        }
    }
}

/** Text to ids by reading.js, in the system's own JavaScript engine: the same ids as Olu's. */
class Reading(context: Context) {
    private val sandbox: JavaScriptSandbox = JavaScriptSandbox.createConnectedInstanceAsync(context).get()
    private val isolate: JavaScriptIsolate = sandbox.createIsolate()

    init {
        isolate.provideNamedData("reading", context.assets.open("voice/reading.json").readBytes())
        isolate.evaluateJavaScriptAsync(context.assets.open("voice/reading.js").bufferedReader().readText()).get()
        isolate.evaluateJavaScriptAsync(OPEN).get()
    }

    fun read(text: String): List<ReadLine> {
        val answer = JSONObject(isolate.evaluateJavaScriptAsync("ask(${JSONObject.quote(text)})").get())
        if (answer.has("failed")) throw ReadingException(answer.getString("failed"))
        val rows: JSONArray = answer.getJSONArray("lines")
        return (0 until rows.length()).map { rows.getJSONObject(it) }.map { row ->
            val ids = row.getJSONArray("ids")
            ReadLine(IntArray(ids.length()) { ids.getInt(it) }, if (row.isNull("pause")) -1f else row.getDouble("pause").toFloat())
        }.filter { it.ids.isNotEmpty() }
    }

    fun close() {
        isolate.close()
        sandbox.close()
    }

    companion object {
        /** Nothing where the system cannot run it: a WebView older than version 110 or so. */
        fun open(context: Context): Reading? = try {
            if (JavaScriptSandbox.isSupported()) Reading(context) else null
        } catch (bad: ExecutionException) {
            null
        }

        private const val OPEN = """
            globalThis.ask = () => JSON.stringify({ failed: "the reading is still being opened" });
            android.consumeNamedDataAsArrayBuffer("reading").then((bytes) => {
              const raw = new Uint8Array(bytes); // ASCII: this engine has no TextDecoder
              let text = "";
              for (let at = 0; at < raw.length; at += 8192) text += String.fromCharCode(...raw.subarray(at, at + 8192));
              const reading = OluReading.open(JSON.parse(text));
              globalThis.ask = (text) => {
                try { return JSON.stringify({ lines: [...reading.read(text, true)].map(({ ids, pause }) => ({ ids, pause })) }); }
                catch (error) { return JSON.stringify({ failed: error.message }); }
              };
              return "open";
            })
        """
    }
}
