/** Creates the key ring of a vault, with the platform's AES and a WebAssembly module, or with the platform alone. Source: docs/security.md. */
import { performance } from 'node:perf_hooks'
import { VaultError } from '../../core/errors.ts'
import type { ContentKey, KeyRing, KeyRingFactory, RootKey, RootKeyUse } from '../../core/ports/crypto.ts'
import { copySecret, deriveKey, type KeyUse, wipe } from './key-bytes.ts'
import { createNonceSource, SYSTEM_GENERATORS } from './nonces.ts'
import { createPlatformCipher } from './platform/aes.ts'
import { type Cmac, createPlatformCmac } from './platform/cmac.ts'
import { createPlatformXaesKey } from './platform/derived-keys.ts'
import { createPlatformPointerCipher } from './platform/pointer-cipher.ts'
import type { PointerCipher, Primitives } from './primitives.ts'
import { createRankCipher, type RankCipher } from './rank-cipher.ts'
import { createSealer, type Sealer } from './sealer.ts'
import { createSubjectKeys } from './subject-keys.ts'
import { createModuleCmac } from './wasm/cmac.ts'
import { createModuleXaesKey } from './wasm/derived-keys.ts'
import { createModulePointerCipher, pointerTweak } from './wasm/pointer-cipher.ts'
import { createModuleCipher, wipeWasm } from './wasm/wasm.ts'
import { createEpochs, type Epochs, type XaesKey } from './xaes-key.ts'

const ROOT_BYTES = 32
const MAX_VERSION = 65_535

/** The nonces of all rings of this process. */
const nonces = createNonceSource(SYSTEM_GENERATORS)

/** The platform's ciphers, and the module where it is faster. */
export const MODULE_PRIMITIVES: Primitives = {
  // For longer plaintexts, AES and GHASH in hardware are worth a call.
  maxBatchedBytes: 1024,
  createXaesKey: createModuleXaesKey,
  createCmac: createModuleCmac,
  createPointerCipher: createModulePointerCipher,
  createInPlaceCipher: createModuleCipher,
}

/** The platform's ciphers alone: the module is never compiled. */
export const PLATFORM_PRIMITIVES: Primitives = {
  maxBatchedBytes: -1,
  createXaesKey: createPlatformXaesKey,
  createCmac: createPlatformCmac,
  createPointerCipher: createPlatformPointerCipher,
  createInPlaceCipher: createPlatformCipher,
}

/** The default key ring factory. */
export const keyRingFactory: KeyRingFactory = createFactory(MODULE_PRIMITIVES)

/** The key ring factory of `cryptography: 'node'`. */
export const platformKeyRingFactory: KeyRingFactory = createFactory(PLATFORM_PRIMITIVES)

/** Returns a factory whose `createRing` throws `failed_precondition` for root keys that are missing, malformed or of one version. */
function createFactory(primitives: Primitives): KeyRingFactory {
  return {
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
      return createKeyRing(primitives, { vaultId, roots: sorted, use: versions })
    },
    createSubjectKeys: () => createSubjectKeys(primitives, nonces),
  }
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

/** What a ring is made of. */
interface RingInput {
  readonly vaultId: string
  readonly roots: readonly RootKey[]
  readonly use: RootKeyUse
}

function createKeyRing(primitives: Primitives, { vaultId, roots, use }: RingInput): KeyRing {
  const { activeVersion, lookupVersion, lookupVersions = [lookupVersion] } = use
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
  const contents = new Set<ContentKey>()
  const lookups = new Map(roots.map((root) => [root.version, createLookupKeys(primitives, vaultId, { root, withKey })]))

  const xaesKeyOf = (version: number, purpose: string): XaesKey | undefined => {
    const root = roots.find((candidate) => candidate.version === version)
    return root && withKey(root, { kind: 'seal', version, purpose }, primitives.createXaesKey)
  }
  const sealerOf = (purpose: string): PurposeSealer =>
    getOrCreate(sealers, purpose, () => createPurpose(primitives, activeVersion, (version) => xaesKeyOf(version, purpose)))
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
    contentKey(secret) {
      if (isClosed) throw closedError()
      if (secret.length !== ROOT_BYTES) throw new VaultError('internal', `The key of a content must have ${ROOT_BYTES} bytes.`)
      const content = createContentKey(primitives, primitives.createXaesKey(secret), () => contents.delete(content))
      contents.add(content)
      return content
    },
    withRoots(versions, more, use) {
      if (isClosed) throw closedError()
      const missing = versions.find((version) => !lookups.has(version))
      if (missing !== undefined) throw missingRoot(missing)
      return createFactory(primitives).createRing(
        vaultId,
        [...roots.filter(({ version }) => versions.includes(version)), ...more],
        use,
      )
    },
    close() {
      isClosed = true
      for (const made of [...sealers.values(), ...lookups.values(), ...contents]) made.close()
      sealers.clear()
      for (const { key } of roots) wipe(key)
      wipeWasm()
    },
  }
}

/** Returns the key of one content, whose version is 0. `closed` is called when it is closed. */
function createContentKey(primitives: Primitives, key: XaesKey, closed: () => void): ContentKey {
  let isClosed = false
  let isUsed = false
  const sealer = createPurpose(primitives, 0, () => {
    if (isClosed) throw closedError()
    isUsed = true
    return key
  })
  return {
    seal: sealer.seal,
    open: (headerBytes, bodies, associatedData) =>
      sealer.open(headerBytes, new Uint16Array(bodies.count), bodies, associatedData),
    close() {
      if (isClosed) return
      isClosed = true
      // It closes the key that it has used.
      sealer.close()
      if (!isUsed) key.close()
      closed()
    },
  }
}

/** Returns the lookup keys of one root key. Each is derived on first use. */
function createLookupKeys(
  { createCmac, createInPlaceCipher, createPointerCipher }: Primitives,
  vaultId: string,
  { root, withKey }: { readonly root: RootKey; readonly withKey: WithKey },
): LookupKeys {
  const digests = new Map<string, Cmac>()
  const rankCiphers = new Map<string, RankCipher>()
  let pointers: PointerCipher | undefined
  return {
    digestOf: (scope) => getOrCreate(digests, scope, () => withKey(root, { kind: 'digest', scope }, createCmac)),
    ranksOf: (scope) =>
      getOrCreate(rankCiphers, scope, () =>
        createRankCipher(withKey(root, { kind: 'rank', scope }, createInPlaceCipher), vaultId),
      ),
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
function createPurpose(
  { maxBatchedBytes }: Primitives,
  activeVersion: number,
  createKey: (version: number) => XaesKey | undefined,
): PurposeSealer {
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
    ...createSealer({ epochs, keyOf, nonces, maxBatchedBytes }),
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
