/** The key ring of a vault, on the platform's AES and a WebAssembly module. Source: docs/security.md. */
import { performance } from 'node:perf_hooks'
import { VaultError } from '../../core/errors.ts'
import type { KeyRing, KeyRingFactory, RootKey } from '../../core/ports/keys.ts'
import { type Cmac, createCmac } from './cmac.ts'
import { deriveKey } from './derive-key.ts'
import { createEpochs, type Epoch } from './epoch.ts'
import { createPointerCipher, type PointerCipher, pointerTweak } from './pointer-cipher.ts'
import { createRandomPool } from './random-pool.ts'
import { createRankCipher, type RankCipher } from './rank-cipher.ts'
import { createSealer, type Sealer } from './sealer.ts'
import { createXaesKey, type XaesKey } from './xaes-key.ts'

const ROOT_BYTES = 32
const MAX_VERSION = 65_535

/** Nonces of all rings of this process come from one pool. */
const pool = createRandomPool()

/** The key ring factory every vault uses unless it is given another. */
export const keyRingFactory: KeyRingFactory = {
  createRing(vaultId, roots) {
    const sorted = checkedRoots(roots)
    const oldest = sorted[0]
    const newest = sorted.at(-1)
    if (oldest === undefined || newest === undefined)
      throw new VaultError('failed_precondition', 'A vault needs at least one root key.')
    return createKeyRing(vaultId, sorted, oldest, newest.version)
  },
}

/** Copies in rising order of version: the caller may wipe its own. */
function checkedRoots(roots: readonly RootKey[]): readonly RootKey[] {
  const versions = new Set<number>()
  for (const { version, key } of roots) {
    if (!Number.isInteger(version) || version < 1 || version > MAX_VERSION) {
      throw new VaultError('failed_precondition', `The version of a root key must be an integer from 1 to ${MAX_VERSION}.`)
    }
    if (versions.has(version))
      throw new VaultError('failed_precondition', `Two root keys have version ${version}. Each needs its own.`)
    if (key.length !== ROOT_BYTES)
      throw new VaultError('failed_precondition', `Root key ${version} must have ${ROOT_BYTES} bytes.`)
    versions.add(version)
  }
  const copies = roots.map(({ version, key }) => ({ version, key: Uint8Array.from(key) }))
  return copies.sort((left, right) => left.version - right.version)
}

function createKeyRing(vaultId: string, roots: readonly RootKey[], oldest: RootKey, newestVersion: number): KeyRing {
  const sealers = new Map<string, Sealer>()
  const digests = new Map<string, Cmac>()
  const rankCiphers = new Map<string, RankCipher>()
  let pointers: PointerCipher | undefined

  const sealerOf = (purpose: string): Sealer =>
    remembered(sealers, purpose, () => createPurpose(vaultId, roots, newestVersion, purpose))
  // Digests, pointers and ranks come from the oldest root key and never rotate: they are compared with stored ones, and a token that was
  // handed out must keep its text. The key of a scope or of the pointers is derived when it is first needed.
  const digestOf = (scope: string): Cmac =>
    remembered(digests, scope, () => createCmac(deriveKey(oldest.key, vaultId, { kind: 'digest', scope })))
  const ranksOf = (scope: string): RankCipher =>
    remembered(rankCiphers, scope, () => createRankCipher(deriveKey(oldest.key, vaultId, { kind: 'rank', scope }), vaultId))
  const pointerCipher = (): PointerCipher => {
    pointers ??= createPointerCipher(deriveKey(oldest.key, vaultId, { kind: 'pointer' }), pointerTweak(vaultId))
    return pointers
  }

  return {
    newestVersion,
    seal: (purpose, header, plaintexts, associatedData) => sealerOf(purpose).seal(header, plaintexts, associatedData),
    open: (purpose, headerBytes, versions, bodies, associatedData) =>
      sealerOf(purpose).open(headerBytes, versions, bodies, associatedData),
    digest: (scope, inputs) => digestOf(scope).digest(inputs),
    encryptPointers: (words) => pointerCipher().disguise(words),
    decryptPointers: (texts) => pointerCipher().undisguise(texts),
    encryptRanks: (scope, ranks) => ranksOf(scope).encipher(ranks),
    decryptRanks: (scope, ranks) => ranksOf(scope).decipher(ranks),
  }
}

/** The sealing keys of one purpose, each derived when its version is first used. */
function createPurpose(vaultId: string, roots: readonly RootKey[], newestVersion: number, purpose: string): Sealer {
  const keys = new Map<number, XaesKey>()
  const keyOf = (version: number): XaesKey | undefined => {
    const root = roots.find((candidate) => candidate.version === version)
    if (root === undefined) return undefined
    return remembered(keys, version, () => createXaesKey(deriveKey(root.key, vaultId, { kind: 'seal', version, purpose })))
  }
  let epochs: ((count: number) => Epoch) | undefined
  const nextEpoch = (count: number): Epoch => {
    const newest = keyOf(newestVersion)
    if (newest === undefined)
      throw new VaultError('internal', `Root key ${newestVersion} is missing from its ring. This is a defect; please report it.`)
    epochs ??= createEpochs(newest, { pool, now: () => performance.now() })
    return epochs(count)
  }
  return createSealer({ nextEpoch, keyOf, pool })
}

function remembered<Name, Value>(values: Map<Name, Value>, name: Name, make: () => Value): Value {
  const known = values.get(name)
  if (known !== undefined) return known
  const made = make()
  values.set(name, made)
  return made
}
