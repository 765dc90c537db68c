// What the app uses of other libraries, by their published signatures: enough for a compiler.
package androidx.javascriptengine

import android.content.Context
import com.google.common.util.concurrent.ListenableFuture

class JavaScriptSandbox private constructor() : AutoCloseable {
    fun createIsolate(): JavaScriptIsolate = TODO()
    override fun close() = TODO()
    companion object {
        @JvmStatic fun isSupported(): Boolean = TODO()
        @JvmStatic fun createConnectedInstanceAsync(context: Context): ListenableFuture<JavaScriptSandbox> = TODO()
    }
}

class JavaScriptIsolate private constructor() : AutoCloseable {
    fun evaluateJavaScriptAsync(code: String): ListenableFuture<String> = TODO()
    fun provideNamedData(name: String, data: ByteArray): Unit = TODO()
    override fun close() = TODO()
}
