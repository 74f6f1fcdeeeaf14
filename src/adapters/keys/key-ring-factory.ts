/** Creates the key ring of a vault, with the platform's AES and a WebAssembly module. Source: docs/security.md. */
import { performance } from 'node:perf_hooks'
import { VaultError } from '../../core/errors.ts'
import type { KeyRing, KeyRingFactory, RootKey } from '../../core/ports/keys.ts'
import { type Cmac, createCmac } from './cmac.ts'
import { deriveKey, type KeyUse } from './derive-key.ts'
import { createEpochs, type Epochs } from './epoch.ts'
import { createNonceSource, SYSTEM_GENERATORS } from './nonce-source.ts'
import { createPointerCipher, type PointerCipher, pointerTweak } from './pointer-cipher.ts'
import { createRankCipher, type RankCipher } from './rank-cipher.ts'
import { createSealer, type Sealer } from './sealer.ts'
import { copySecret, wipe } from './secret-bytes.ts'
import { wipeWasm } from './wasm.ts'
import { createXaesKey, type XaesKey } from './xaes-key.ts'

const ROOT_BYTES = 32
const MAX_VERSION = 65_535

/** The nonces of all rings of this process. */
const nonces = createNonceSource(SYSTEM_GENERATORS)

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
  const copies = roots.map(({ version, key }) => ({ version, key: copySecret(key) }))
  return copies.sort((left, right) => left.version - right.version)
}

function createKeyRing(vaultId: string, roots: readonly RootKey[], oldest: RootKey, newestVersion: number): KeyRing {
  const sealers = new Map<string, PurposeSealer>()
  const digests = new Map<string, Cmac>()
  const rankCiphers = new Map<string, RankCipher>()
  let pointers: PointerCipher | undefined
  let isClosed = false

  /** Derives a key, and wipes it after `create` has made what it needs of it. */
  const withKey = <Made>(root: RootKey, use: KeyUse, create: (key: Uint8Array) => Made): Made => {
    if (isClosed) throw closedError()
    const key = deriveKey(root.key, vaultId, use)
    try {
      return create(key)
    } finally {
      wipe(key)
    }
  }
  const xaesKeyOf = (version: number, purpose: string): XaesKey | undefined => {
    const root = roots.find((candidate) => candidate.version === version)
    return root && withKey(root, { kind: 'seal', version, purpose }, createXaesKey)
  }
  const sealerOf = (purpose: string): PurposeSealer =>
    getOrCreate(sealers, purpose, () => createPurpose(newestVersion, (version) => xaesKeyOf(version, purpose)))
  // Digests, pointers and ranks use the oldest root key and never rotate: they are compared with stored ones, and an issued token must
  // keep its text. Each key is derived on first use.
  const digestOf = (scope: string): Cmac =>
    getOrCreate(digests, scope, () => withKey(oldest, { kind: 'digest', scope }, createCmac))
  const ranksOf = (scope: string): RankCipher =>
    getOrCreate(rankCiphers, scope, () => withKey(oldest, { kind: 'rank', scope }, (key) => createRankCipher(key, vaultId)))
  const pointerCipher = (): PointerCipher => {
    pointers ??= withKey(oldest, { kind: 'pointer' }, (key) => createPointerCipher(key, pointerTweak(vaultId)))
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
    close() {
      isClosed = true
      for (const made of [...sealers.values(), ...digests.values(), ...rankCiphers.values(), pointers]) made?.close()
      for (const made of [sealers, digests, rankCiphers]) made.clear()
      pointers = undefined
      wipe(...roots.map(({ key }) => key))
      wipeWasm()
    },
  }
}

function closedError(): VaultError {
  return new VaultError('failed_precondition', 'The vault is closed. Open it again.')
}

/** A sealer whose keys can be wiped. */
type PurposeSealer = Sealer & { close(): void }

/** Returns the sealer of one purpose. Its keys are derived on first use. */
function createPurpose(newestVersion: number, createKey: (version: number) => XaesKey | undefined): PurposeSealer {
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
    const newest = keyOf(newestVersion)
    if (newest === undefined)
      throw new VaultError('internal', `Root key ${newestVersion} is missing from its ring. This is a defect; please report it.`)
    current ??= createEpochs(newest, { fill: nonces.fill, now: () => performance.now() })
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
