/** Derives the keys of XAES-256-GCM with the platform's cipher. */
import { secretBytes, wipe } from '../key-bytes.ts'
import { createXaesKey, HALF_BYTES, type KeyDerivation, SECRET_BYTES, type XaesKey } from '../xaes-key.ts'
import { createPlatformCipher, doubleBlock } from './aes.ts'

const BLOCK = 16
const NOTHING = new Uint8Array(0)

/** Returns an XAES-256-GCM key from 32 bytes, which are not kept. Source of `maxDerived`: `createXaesKey`. */
export function createPlatformXaesKey(key: Uint8Array, maxDerived?: number): XaesKey {
  const cipher = createPlatformCipher(key)
  const zeros = secretBytes(BLOCK)
  cipher.encrypt(zeros)
  const subkey = doubleBlock(zeros)
  wipe(zeros)
  const derivation: KeyDerivation = {
    derive(half, reused) {
      const secret = reused?.secret ?? secretBytes(SECRET_BYTES)
      // Both blocks of the CMAC are whole, so each is one block of AES. Source: C2SP, XAES-256-GCM.
      for (const counter of [1, 2]) secret.set([0, counter, 0x58, 0, ...half.subarray(0, HALF_BYTES)], (counter - 1) * BLOCK)
      for (let i = 0; i < SECRET_BYTES; i++) secret[i] = (secret[i] ?? 0) ^ (subkey[i % BLOCK] ?? 0)
      cipher.encrypt(secret)
      return reused ?? { bytes: secret, secret, schedule: NOTHING, hashTables: NOTHING, cipher: undefined, moduleBlocks: 0 }
    },
    close() {
      cipher.close()
      wipe(subkey)
    },
  }
  return createXaesKey(derivation, maxDerived)
}
