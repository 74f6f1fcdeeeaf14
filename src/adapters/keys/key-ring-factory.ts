/** Creates the key ring of a vault, with the platform's AES and a WebAssembly module. Source: docs/security.md. */
import { performance } from 'node:perf_hooks'
import { VaultError } from '../../core/errors.ts'
import type { KeyRing, KeyRingFactory, RootKey, RootKeyUse } from '../../core/ports/crypto.ts'
import { copySecret, deriveKey, type KeyUse, wipe } from './key-bytes.ts'
import { createRankCipher, type RankCipher } from './rank-cipher.ts'
import { createNonceSource, createSealer, type Sealer, SYSTEM_GENERATORS } from './sealer.ts'
import { type Cmac, createCmac } from './wasm/cmac.ts'
import { createPointerCipher, type PointerCipher, pointerTweak } from './wasm/pointer-cipher.ts'
import { wipeWasm } from './wasm/wasm.ts'
import { createEpochs, createXaesKey, type Epochs, type XaesKey } from './wasm/xaes-key.ts'

const ROOT_BYTES = 32
const MAX_VERSION = 65_535

/** The nonces of all rings of this process. */
const nonces = createNonceSource(SYSTEM_GENERATORS)

/** The default key ring factory. `createRing` throws `failed_precondition` for root keys that are missing, malformed or of one version. */
export const keyRingFactory: KeyRingFactory = {
  createRing(vaultId, roots, use) {
    const sorted = checkedRoots(roots)
    const oldest = sorted[0]
    const newest = sorted.at(-1)
    if (oldest === undefined || newest === undefined)
      throw new VaultError('failed_precondition', 'A vault needs at least one root key.')
    const versions = use ?? { activeVersion: newest.version, lookupVersion: oldest.version }
    const { activeVersion, lookupVersion, lookupVersions = [] } = versions
    for (const version of [activeVersion, lookupVersion, ...lookupVersions]) {
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
  const copies = roots.map(({ version, key }) => ({ version, key: copySecret(key) }))
  return copies.sort((left, right) => left.version - right.version)
}

/** The keys derived from one root key for digests, pointers and ranks. */
interface LookupKeys {
  digestOf(scope: string): Cmac
  ranksOf(scope: string): RankCipher
  pointerCipher(): PointerCipher
  close(): void
}

/** Derives a key, and wipes it after `create` has made what it needs of it. */
type WithKey = <Made>(root: RootKey, use: KeyUse, create: (key: Uint8Array) => Made) => Made

function createKeyRing(
  vaultId: string,
  roots: readonly RootKey[],
  { activeVersion, lookupVersion, lookupVersions = [lookupVersion] }: RootKeyUse,
): KeyRing {
  let isClosed = false
  const withKey: WithKey = (root, use, create) => {
    if (isClosed) throw closedError()
    const key = deriveKey(root.key, vaultId, use)
    try {
      return create(key)
    } finally {
      wipe(key)
    }
  }
  const sealers = new Map<string, PurposeSealer>()
  const lookups = new Map(roots.map((root) => [root.version, createLookupKeys(vaultId, root, withKey)]))

  const xaesKeyOf = (version: number, purpose: string): XaesKey | undefined => {
    const root = roots.find((candidate) => candidate.version === version)
    return root && withKey(root, { kind: 'seal', version, purpose }, createXaesKey)
  }
  const sealerOf = (purpose: string): PurposeSealer =>
    getOrCreate(sealers, purpose, () => createPurpose(activeVersion, (version) => xaesKeyOf(version, purpose)))
  const keysOf = (version: number): LookupKeys => {
    if (isClosed) throw closedError()
    const keys = lookups.get(version)
    if (keys === undefined) throw missingRoot(version)
    return keys
  }

  return {
    activeVersion,
    lookupVersion,
    lookupVersions,
    hasVersion: (version) => lookups.has(version),
    seal: (purpose, header, plaintexts, associatedData) => sealerOf(purpose).seal(header, plaintexts, associatedData),
    open: (purpose, headerBytes, versions, bodies, associatedData) =>
      sealerOf(purpose).open(headerBytes, versions, bodies, associatedData),
    digest: (version, scope, inputs) => keysOf(version).digestOf(scope).digest(inputs),
    encryptPointers: (version, words) => keysOf(version).pointerCipher().encrypt(words),
    decryptPointers: (version, texts) => keysOf(version).pointerCipher().decrypt(texts),
    encryptRanks: (version, scope, ranks) => keysOf(version).ranksOf(scope).encrypt(ranks),
    decryptRanks: (version, scope, ranks) => keysOf(version).ranksOf(scope).decrypt(ranks),
    withRoots(versions, more, use) {
      if (isClosed) throw closedError()
      const missing = versions.find((version) => !lookups.has(version))
      if (missing !== undefined) throw missingRoot(missing)
      return keyRingFactory.createRing(vaultId, [...roots.filter(({ version }) => versions.includes(version)), ...more], use)
    },
    close() {
      isClosed = true
      for (const made of [...sealers.values(), ...lookups.values()]) made.close()
      sealers.clear()
      for (const { key } of roots) wipe(key)
      wipeWasm()
    },
  }
}

/** Returns the lookup keys of one root key. Each is derived on first use. */
function createLookupKeys(vaultId: string, root: RootKey, withKey: WithKey): LookupKeys {
  const digests = new Map<string, Cmac>()
  const rankCiphers = new Map<string, RankCipher>()
  let pointers: PointerCipher | undefined
  return {
    digestOf: (scope) => getOrCreate(digests, scope, () => withKey(root, { kind: 'digest', scope }, createCmac)),
    ranksOf: (scope) =>
      getOrCreate(rankCiphers, scope, () => withKey(root, { kind: 'rank', scope }, (key) => createRankCipher(key, vaultId))),
    pointerCipher() {
      pointers ??= withKey(root, { kind: 'pointer' }, (key) => createPointerCipher(key, pointerTweak(vaultId)))
      return pointers
    },
    close() {
      for (const made of [...digests.values(), ...rankCiphers.values(), pointers]) made?.close()
      digests.clear()
      rankCiphers.clear()
      pointers = undefined
    },
  }
}

function closedError(): VaultError {
  return new VaultError('failed_precondition', 'The vault is closed. Open it again.')
}

/** A sealer whose keys can be wiped. */
type PurposeSealer = Sealer & { close(): void }

/** Returns the sealer of one purpose. Its keys are derived on first use. */
function createPurpose(activeVersion: number, createKey: (version: number) => XaesKey | undefined): PurposeSealer {
  const keys = new Map<number, XaesKey>()
  let current: Epochs | undefined
  const keyOf = (version: number): XaesKey | undefined => {
    const known = keys.get(version)
    if (known !== undefined) return known
    const created = createKey(version)
    if (created !== undefined) keys.set(version, created)
    return created
  }
  const epochs = (): Epochs => {
    const active = keyOf(activeVersion)
    if (active === undefined) throw missingRoot(activeVersion)
    current ??= createEpochs(active, { fill: nonces.fill, now: () => performance.now() })
    return current
  }
  return {
    ...createSealer({ epochs, keyOf, nonces }),
    close() {
      current?.close()
      for (const key of keys.values()) key.close()
      keys.clear()
    },
  }
}

function getOrCreate<Name, Value>(values: Map<Name, Value>, name: Name, create: () => Value): Value {
  const known = values.get(name)
  if (known !== undefined) return known
  const created = create()
  values.set(name, created)
  return created
}
