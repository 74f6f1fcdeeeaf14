/** The dependencies of every function that seals or reveals: keys, random bytes, and the vault. */
import { fault, type Sentence, say, words } from '../errors.ts'
import type { Entropy, KeyRing } from '../ports/crypto.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { readVersion, sealBodies } from '../sealing/envelope.ts'
import { sealSubjectBodies, subjectKeyOf } from '../sealing/subject-bodies.ts'
import type { SubjectKeyring } from '../sealing/subject-keyring.ts'
import type { Reason } from '../util/attempt.ts'
import { required } from '../util/lists.ts'
import type { Slab } from '../util/memory.ts'

/** The keys and the vault that plaintext is sealed for. */
export interface Barrier {
  /** Replaced when another process changed the root keys: read it again for each piece of work. */
  readonly ring: KeyRing
  readonly entropy: Entropy
  /** 16-byte digest of the vault id. */
  readonly vault: Uint8Array
  /** The keys of subjects. Without it no body of a subject opens. */
  readonly subjectKeys?: SubjectKeyring | undefined
  /** The root keys that were destroyed. */
  readonly destroyed?: readonly DestroyedKey[]
  /** Receives each row that is seen with a digest that does not agree with its value. Such a row is never returned for a value it does not have. */
  readonly reportMismatch?: ((mismatch: DigestMismatch) => void) | undefined
  /** True if a body with an unknown key version throws UNKNOWN_KEY, because its key may be in the catalog. Otherwise it fails authentication. */
  readonly signalsUnknownKeys?: boolean
}

/** A root key that was destroyed, and when, in milliseconds since 1970. */
export interface DestroyedKey {
  readonly version: number
  readonly at: number
}

/** Returns why a body does not open and what to do, as the end of a sentence. */
export function whyUnreadable(barrier: Pick<Barrier, 'destroyed' | 'subjectKeys'>, body: Uint8Array): Sentence {
  const { destroyed = [] } = barrier
  if (isForgotten(barrier, body))
    return say`cannot be opened: the person was forgotten, and the key of their records is destroyed.`
  const version = readVersion(body, 0, body.length)
  const key = destroyed.find((one) => one.version === version)
  if (key === undefined)
    return say`failed authentication: it was changed or moved in the database, or its key is missing. Restore it.`
  const date = words(new Date(key.at).toISOString().slice(0, 10))
  return say`cannot be opened: root key ${version}, which sealed it, was destroyed on ${date}. It is from a backup that was made before.`
}

/** True if a body is sealed with the key of a person who was forgotten. */
export function isForgotten({ subjectKeys }: Pick<Barrier, 'subjectKeys'>, body: Uint8Array): boolean {
  return subjectKeys?.isDestroyed(subjectKeyOf(body)) === true
}

/** A row whose stored digest does not agree with the opened value: it was changed in the database. */
export interface DigestMismatch {
  readonly table: Table
  readonly column: Column
  /** The row id. */
  readonly row: number
}

/** Thrown for a body whose key version this process does not know. The catalog is read again, and then the work runs again. */
export const UNKNOWN_KEY = new Error('a body is sealed with a key that this process does not know')

/** Thrown inside a transaction to roll it back if another process changed the catalog. It is read again, and then the work runs again. */
export const CATALOG_MOVED = new Error('another process changed the catalog since this one read it')

/** Maximum number of attempts, if other processes keep changing the catalog. */
const MAX_ATTEMPTS = 10

/** Work that met a catalog or a key of which this process does not know yet. It runs again after the catalog was read again. */
export const OUTDATED: Reason = {
  is: (error) => error === CATALOG_MOVED || error === UNKNOWN_KEY,
  most: MAX_ATTEMPTS,
  lastWord: () => fault('aborted')`Other processes kept changing the schema or the keys of the vault. Retry.`,
}

/**
 * Returns the same barrier for work that runs again after UNKNOWN_KEY. It reports digests that do not agree with their values, if it is
 * given a place to. Its key ring stays the newest one.
 */
export function retryingBarrier(barrier: Barrier, reportMismatch?: Barrier['reportMismatch']): Barrier {
  return new RetryingBarrier(barrier, reportMismatch)
}

/** A class, because each operation makes one, and an object literal with a getter costs ten times as much. */
class RetryingBarrier implements Barrier {
  readonly entropy: Entropy
  readonly vault: Uint8Array
  readonly subjectKeys: SubjectKeyring | undefined
  readonly reportMismatch: Barrier['reportMismatch']
  readonly signalsUnknownKeys = true
  readonly #newest: Barrier

  constructor(newest: Barrier, reportMismatch: Barrier['reportMismatch']) {
    this.#newest = newest
    this.entropy = newest.entropy
    this.vault = newest.vault
    this.subjectKeys = newest.subjectKeys
    this.reportMismatch = reportMismatch
  }

  get ring(): KeyRing {
    return this.#newest.ring
  }

  get destroyed(): readonly DestroyedKey[] {
    return this.#newest.destroyed ?? []
  }
}

/** Returns bodies of an object id, in order, each sealed with the key of its subject, or with that of the vault: `keys` absent is that of the vault for all. */
export function sealBodiesOf(
  { ring, vault, subjectKeys }: Pick<Barrier, 'ring' | 'vault' | 'subjectKeys'>,
  objectId: number,
  {
    ids,
    plaintexts,
    keys,
  }: { readonly ids: readonly number[]; readonly plaintexts: Slab; readonly keys?: ArrayLike<number> | undefined },
): Slab {
  if (keys === undefined) return sealBodies(ring, { vault, objectId }, ids, plaintexts)
  const keyring = required(subjectKeys, 'The keys of subjects')
  return sealSubjectBodies(ring, { keyring, keys }, { vault, objectId }, ids, plaintexts)
}
