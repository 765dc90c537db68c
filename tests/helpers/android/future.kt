// What the app uses of other libraries, by their published signatures: enough for a compiler.
package com.google.common.util.concurrent

interface ListenableFuture<V> : java.util.concurrent.Future<V>
