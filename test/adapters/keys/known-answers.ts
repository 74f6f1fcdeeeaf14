/** The known answers and laws of the keys. A test that replaces the form of the WebAssembly module imports this file afterwards. */
import './wasm/gcm.test.ts'
import './cmac.test.ts'
import './ff1.test.ts'
import './pointer-cipher.test.ts'
import './rank-cipher.test.ts'
import './key-ring-factory.test.ts'
import '../../properties/published-vectors.test.ts'
