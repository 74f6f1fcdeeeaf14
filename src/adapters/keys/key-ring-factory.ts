/** Creates the key ring of a vault, with the platform's AES and a WebAssembly module. Source: docs/security.md. */
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

/** One pool of random bytes for the nonces of all rings of this process. */
const pool = createRandomPool()

/** The default key ring factory. `createRing` throws `failed_precondition` for root keys that are missing, malformed or of one version. */
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

/** Returns copies of the root keys, by rising version. The caller can wipe its own. */
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
    getOrCreate(sealers, purpose, () => createPurpose(vaultId, roots, newestVersion, purpose))
  // Digests, pointers and ranks use the oldest root key and never rotate: they are compared with stored ones, and an issued token must
  // keep its text. Each key is derived on first use.
  const digestOf = (scope: string): Cmac =>
    getOrCreate(digests, scope, () => createCmac(deriveKey(oldest.key, vaultId, { kind: 'digest', scope })))
  const ranksOf = (scope: string): RankCipher =>
    getOrCreate(rankCiphers, scope, () => createRankCipher(deriveKey(oldest.key, vaultId, { kind: 'rank', scope }), vaultId))
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
    encryptPointers: (words) => pointerCipher().encrypt(words),
    decryptPointers: (texts) => pointerCipher().decrypt(texts),
    encryptRanks: (scope, ranks) => ranksOf(scope).encrypt(ranks),
    decryptRanks: (scope, ranks) => ranksOf(scope).decrypt(ranks),
  }
}

/** Returns the sealer of one purpose. Its keys are derived on first use. */
function createPurpose(vaultId: string, roots: readonly RootKey[], newestVersion: number, purpose: string): Sealer {
  const keys = new Map<number, XaesKey>()
  const keyOf = (version: number): XaesKey | undefined => {
    const root = roots.find((candidate) => candidate.version === version)
    if (root === undefined) return undefined
    return getOrCreate(keys, version, () => createXaesKey(deriveKey(root.key, vaultId, { kind: 'seal', version, purpose })))
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

function getOrCreate<Name, Value>(values: Map<Name, Value>, name: Name, create: () => Value): Value {
  const known = values.get(name)
  if (known !== undefined) return known
  const created = create()
  values.set(name, created)
  return created
}
