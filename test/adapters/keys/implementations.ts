/** The two ways a key ring computes, for tests of what both must give. */
import {
  keyRingFactory,
  MODULE_PRIMITIVES,
  PLATFORM_PRIMITIVES,
  platformKeyRingFactory,
} from '../../../src/adapters/keys/key-ring-factory.ts'
import { createRankCipher, type RankCipher } from '../../../src/adapters/keys/rank-cipher.ts'

export const IMPLEMENTATIONS = [
  { name: 'the module', cryptography: 'wasm', factory: keyRingFactory, ...MODULE_PRIMITIVES },
  { name: 'the platform alone', cryptography: 'node', factory: platformKeyRingFactory, ...PLATFORM_PRIMITIVES },
] as const

/** The rank cipher of a key, by the module. */
export function rankCipherOf(key: Uint8Array, vaultId: string): RankCipher {
  return createRankCipher(MODULE_PRIMITIVES.createInPlaceCipher(key), vaultId)
}
