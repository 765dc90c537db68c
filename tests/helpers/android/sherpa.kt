// What the app uses of other libraries, by their published signatures: enough for a compiler.
package com.k2fsa.sherpa.onnx

import android.content.res.AssetManager

class OfflineTtsVitsModelConfig(
    var model: String = "", var lexicon: String = "", var tokens: String = "", var dataDir: String = "",
    var noiseScale: Float = 0.667f, var noiseScaleW: Float = 0.8f, var lengthScale: Float = 1.0f,
)

class OfflineTtsModelConfig(var vits: OfflineTtsVitsModelConfig = TODO(), var numThreads: Int = 1)

class OfflineTtsConfig(var model: OfflineTtsModelConfig = TODO(), var silenceScale: Float = 0.2f)

class GeneratedAudio(val samples: FloatArray, val sampleRate: Int)

class OfflineTts(assetManager: AssetManager? = null, var config: OfflineTtsConfig) {
    fun generate(text: String, sid: Int = 0, speed: Float = 1.0f): GeneratedAudio = TODO()
    fun release(): Unit = TODO()
}
