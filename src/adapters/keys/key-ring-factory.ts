/** Creates the key ring of a vault, with the platform's AES and a WebAssembly module. Source: docs/security.md. */
import { performance } from 'node:perf_hooks'
import { VaultError } from '../../core/errors.ts'
import type { KeyRing, KeyRingFactory, RootKey, RootKeyUse } from '../../core/ports/keys.ts'
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
  createRing(vaultId, roots, use) {
    const sorted = checkedRoots(roots)
    const oldest = sorted[0]
    const newest = sorted.at(-1)
    if (oldest === undefined || newest === undefined)
      throw new VaultError('failed_precondition', 'A vault needs at least one root key.')
    const versions = use ?? { activeVersion: newest.version, lookupVersion: oldest.version }
    for (const version of [versions.activeVersion, versions.lookupVersion]) {
      if (!sorted.some((root) => root.version === version)) throw missingRoot(version)
    }
    return createKeyRing(vaultId, sorted, versions)
  },
}

function missingRoot(version: number): VaultError {
  return new VaultError('internal', `Root key ${version} is missing from its ring. This is a defect; please report it.`)
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

/** The keys derived from one root key for digests, pointers and ranks. */
interface LookupKeys {
  digestOf(scope: string): Cmac
  ranksOf(scope: string): RankCipher
  pointerCipher(): PointerCipher
}

function createKeyRing(vaultId: string, roots: readonly RootKey[], { activeVersion, lookupVersion }: RootKeyUse): KeyRing {
  const sealers = new Map<string, Sealer>()
  const lookups = new Map(roots.map((root) => [root.version, createLookupKeys(vaultId, root)]))

  const sealerOf = (purpose: string): Sealer =>
    getOrCreate(sealers, purpose, () => createPurpose(vaultId, roots, activeVersion, purpose))
  const keysOf = (version: number): LookupKeys => {
    const keys = lookups.get(version)
    if (keys === undefined) throw missingRoot(version)
    return keys
  }

  return {
    activeVersion,
    lookupVersion,
    hasVersion: (version) => lookups.has(version),
    seal: (purpose, header, plaintexts, associatedData) => sealerOf(purpose).seal(header, plaintexts, associatedData),
    open: (purpose, headerBytes, versions, bodies, associatedData) =>
      sealerOf(purpose).open(headerBytes, versions, bodies, associatedData),
    digest: (version, scope, inputs) => keysOf(version).digestOf(scope).digest(inputs),
    encryptPointers: (version, words) => keysOf(version).pointerCipher().encrypt(words),
    decryptPointers: (version, texts) => keysOf(version).pointerCipher().decrypt(texts),
    encryptRanks: (version, scope, ranks) => keysOf(version).ranksOf(scope).encrypt(ranks),
    decryptRanks: (version, scope, ranks) => keysOf(version).ranksOf(scope).decrypt(ranks),
  }
}

/** Returns the lookup keys of one root key. Each is derived on first use. */
function createLookupKeys(vaultId: string, { key }: RootKey): LookupKeys {
  const digests = new Map<string, Cmac>()
  const rankCiphers = new Map<string, RankCipher>()
  let pointers: PointerCipher | undefined
  return {
    digestOf: (scope) => getOrCreate(digests, scope, () => createCmac(deriveKey(key, vaultId, { kind: 'digest', scope }))),
    ranksOf: (scope) =>
      getOrCreate(rankCiphers, scope, () => createRankCipher(deriveKey(key, vaultId, { kind: 'rank', scope }), vaultId)),
    pointerCipher() {
      pointers ??= createPointerCipher(deriveKey(key, vaultId, { kind: 'pointer' }), pointerTweak(vaultId))
      return pointers
    },
  }
}

/** Returns the sealer of one purpose. Its keys are derived on first use. */
function createPurpose(vaultId: string, roots: readonly RootKey[], activeVersion: number, purpose: string): Sealer {
  const keys = new Map<number, XaesKey>()
  const keyOf = (version: number): XaesKey | undefined => {
    const root = roots.find((candidate) => candidate.version === version)
    if (root === undefined) return undefined
    return getOrCreate(keys, version, () => createXaesKey(deriveKey(root.key, vaultId, { kind: 'seal', version, purpose })))
  }
  let epochs: ((count: number) => Epoch) | undefined
  const nextEpoch = (count: number): Epoch => {
    const active = keyOf(activeVersion)
    if (active === undefined) throw missingRoot(activeVersion)
    epochs ??= createEpochs(active, { pool, now: () => performance.now() })
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
