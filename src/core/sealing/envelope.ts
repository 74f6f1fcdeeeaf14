/** The envelope of everything sealed: its header and the address it is bound to; entries, which are sealed one by one; and pointers to rows, which are encrypted. */
import { AAD_BYTES, type Hash, type KeyRing, type Opened, POINTER_WORDS, SHORT_FORM } from '../ports/crypto.ts'
import { ByteWriter } from '../util/bytes.ts'
import { at, required } from '../util/lists.ts'
import { fewBytes, type Slab, slabItem, slabStart, toSlab } from '../util/memory.ts'

/** Length of a long header in bytes: the format, and the version in two bytes. */
export const HEADER_BYTES = 3
/** The format with a long header and a whole nonce. Entries have it, and bodies whose version is above SHORT_VERSIONS. */
export const LONG_FORMAT = 1
/** The format of new bodies: the header is one byte, and of the nonce only the random bytes are stored. 4 is that of pieces of files: file-pieces.ts; 5 that of bodies of subjects: subject-bodies.ts. */
export const SHORT_FORMAT = 3
/** The highest root key version that fits into a short header. */
const SHORT_VERSIONS = 0x7f

/** Returns the long header of what is sealed under a root key version from 1 to 65535. */
export function writeHeader(version: number): Uint8Array {
  return Uint8Array.of(LONG_FORMAT, version >>> 8, version & 0xff)
}

/** Returns the header of new bodies: the short one if the version fits into it. */
export function writeBodyHeader(version: number): Uint8Array {
  return version <= SHORT_VERSIONS ? Uint8Array.of(SHORT_FORM | version) : writeHeader(version)
}

/** Returns the root key version of a body, or 0, which no key has, if the header has another format. */
export function readVersion(bytes: Uint8Array, start: number, end: number): number {
  if (start >= end) return 0
  const first = required(bytes[start])
  if (first >= SHORT_FORM) return first - SHORT_FORM
  if (end - start < HEADER_BYTES || first !== LONG_FORMAT) return 0
  return (required(bytes[start + 1]) << 8) | required(bytes[start + 2])
}

/** True if a body names a root key that this process does not know, because another process may have added it. */
export function namesUnknownKey(ring: KeyRing, bytes: Uint8Array, start = 0, end = bytes.length): boolean {
  const version = readVersion(bytes, start, end)
  return version !== 0 && !ring.hasVersion(version)
}

/** Returns the root key version of each body, as `readVersion`. */
export function readVersions(bodies: Slab): Uint16Array {
  const versions = new Uint16Array(bodies.count)
  for (let i = 0; i < bodies.count; i++) versions[i] = readVersion(bodies.bytes, slabStart(bodies, i), required(bodies.ends[i]))
  return versions
}

/** Returns the format of a body with at least one byte, by its header. */
export function formatOf(firstByte: number): number {
  return firstByte >= SHORT_FORM ? SHORT_FORMAT : LONG_FORMAT
}

/** The table that holds a body. `vault` is the 16-byte digest of the vault id. */
export interface Address {
  readonly vault: Uint8Array
  /** Object id of the table. */
  readonly objectId: number
}

/** The address of one body, and the version of the root key it is sealed with. */
export interface BodyAddress extends Address {
  readonly id: number
  readonly version: number
}

/** Length of the digest of the vault id, in bytes. */
const VAULT_BYTES = 16
/** Prefix of the hashed vault id, so that the digest is of no other text. */
const VAULT_LABEL = 'strongroom/v1/vault/'

/** Returns the 16-byte digest of a vault id: the first half of a SHA-256. It depends on no key, so that root keys can be replaced. */
export function digestVaultId(hash: Hash, vaultId: string): Uint8Array {
  const out = new ByteWriter(VAULT_LABEL.length + vaultId.length)
  out.utf8(VAULT_LABEL + vaultId)
  return hash.sha256(toSlab([out.written()])).slice(0, VAULT_BYTES)
}

/**
 * Returns AAD_BYTES of associated data for each row, in order. `versionOf` returns the root key version of the body at an index, and
 * `formatOf` its format: by default LONG_FORMAT, which all entries have.
 */
export function writeAssociatedData(
  address: Address,
  ids: readonly number[],
  versionOf: (index: number) => number,
  formatOf?: (index: number) => number,
): Uint8Array {
  const associatedData = fewBytes(ids.length * AAD_BYTES)
  if (ids.length === 0) return associatedData
  writeTable(associatedData, 0, address)
  // What all rows have in common is copied in doubling pieces.
  for (let done = AAD_BYTES; done < associatedData.length; done *= 2) associatedData.copyWithin(done, 0, done)
  for (let i = 0; i < ids.length; i++) writeRow(associatedData, i * AAD_BYTES, required(ids[i]), versionOf(i))
  if (formatOf !== undefined) for (let i = 0; i < ids.length; i++) associatedData[i * AAD_BYTES] = formatOf(i)
  return associatedData
}

/**
 * Writes the associated data of the entry at an index of a list. Layout in bytes, big-endian: format 1 | root key version 2 | zero 1 |
 * object id 4 | row id 8 | vault 16.
 */
function writeAddress(target: Uint8Array, index: number, address: BodyAddress): void {
  const start = index * AAD_BYTES
  writeTable(target, start, address)
  writeRow(target, start, address.id, address.version)
}

function writeTable(target: Uint8Array, start: number, { vault, objectId }: Address): void {
  target[start] = LONG_FORMAT
  writeU32(target, start + 4, objectId)
  for (let k = 0; k < VAULT_BYTES; k++) target[start + AAD_BYTES - VAULT_BYTES + k] = required(vault[k])
}

function writeRow(target: Uint8Array, start: number, id: number, version: number): void {
  target[start + 1] = version >>> 8
  target[start + 2] = version
  writeU32(target, start + 8, Math.floor(id / 0x1_0000_0000))
  writeU32(target, start + 12, id)
}

/** Writes the low 32 bits of a number, big-endian. A view of the buffer would cost more than the bytes. */
function writeU32(target: Uint8Array, start: number, value: number): void {
  target[start] = value >>> 24
  target[start + 1] = value >>> 16
  target[start + 2] = value >>> 8
  target[start + 3] = value
}

/** Purpose of the keys that seal records. */
export const RECORD_PURPOSE = 'record'

/** Returns one sealed body for each plaintext, in order, bound to the row id at the same index of `ids`. */
export function sealBodies(ring: KeyRing, address: Address, ids: readonly number[], plaintexts: Slab): Slab {
  const version = ring.activeVersion
  const header = writeBodyHeader(version)
  const format = formatOf(required(header[0]))
  const associatedData = writeAssociatedData(
    address,
    ids,
    () => version,
    () => format,
  )
  return ring.seal(RECORD_PURPOSE, header, plaintexts, associatedData)
}

/**
 * The purpose of the key of each kind, and its object id in associated data. The object ids are above the 16 bits of tables, or 0, which no
 * table has: an event never opens as a head, and neither as a record.
 */
const KINDS = {
  schema: { purpose: 'catalog', objectId: 0 },
  event: { purpose: 'audit', objectId: 0x1_0000 },
  head: { purpose: 'audit', objectId: 0x1_0001 },
  marker: { purpose: 'catalog', objectId: 0x1_0002 },
  file: { purpose: 'file-entry', objectId: 0x1_0003 },
  ticket: { purpose: 'ticket', objectId: 0x1_0004 },
  credential: { purpose: 'credential', objectId: 0x1_0005 },
  maintenance: { purpose: 'maintenance', objectId: 0x1_0006 },
  ring: { purpose: 'ring', objectId: 0x1_0007 },
  opening: { purpose: 'opening', objectId: 0x1_0008 },
  forgotten: { purpose: 'forgotten', objectId: 0x1_000c },
  subject: { purpose: 'subject', objectId: 0x1_000a },
  cursor: { purpose: 'cursor', objectId: 0x1_000d },
  run: { purpose: 'index', objectId: 0x2_0000 },
  block: { purpose: 'index', objectId: 0x2_0001 },
} as const

/** The kind of an entry of the audit trail. */
export type AuditEntryKind = 'event' | 'head'

/** The keys, the vault and the kind of a list of entries. `vault` is the 16-byte digest of the vault id. */
export interface EntriesAddress {
  readonly ring: KeyRing
  readonly vault: Uint8Array
  readonly kind: keyof typeof KINDS
}

/** The keys, the vault, the kind and the row of one entry. */
export interface EntryAddress extends EntriesAddress {
  /** The row id. Tickets have no row, and 0 here. */
  readonly id: number
}

/** Returns the sealed bytes of an entry. */
export function sealEntry(address: EntryAddress, plaintext: Uint8Array): Uint8Array {
  return slabItem(sealEntries(address, [address.id], [plaintext]), 0)
}

/** Returns the plaintext of an entry; undefined if it fails authentication. */
export function openEntry(address: EntryAddress, sealed: Uint8Array): Uint8Array | undefined {
  const { plaintexts, opened } = openEntries(address, [address.id], [sealed])
  return opened[0] === 1 ? slabItem(plaintexts, 0) : undefined
}

/** Returns one sealed entry for each plaintext, in order, bound to the row id at the same index of `ids`. */
export function sealEntries(
  { ring, vault, kind }: EntriesAddress,
  ids: readonly number[],
  plaintexts: readonly Uint8Array[],
): Slab {
  const { purpose, objectId } = KINDS[kind]
  const version = ring.activeVersion
  const associatedData = writeAssociatedData({ vault, objectId }, ids, () => version)
  return ring.seal(purpose, writeHeader(version), toSlab(plaintexts), associatedData)
}

/** Returns the plaintext of each entry, in order. An entry that was changed or moved does not open; the others do. */
export function openEntries(
  { ring, vault, kind }: EntriesAddress,
  ids: readonly number[],
  sealed: readonly Uint8Array[],
): Opened {
  const { purpose, objectId } = KINDS[kind]
  const bodies = toSlab(sealed)
  const versions = readVersions(bodies)
  const associatedData = writeAssociatedData({ vault, objectId }, ids, (index) => required(versions[index]))
  return ring.open(purpose, HEADER_BYTES, versions, bodies, associatedData)
}

/** How the bodies of a table are sealed. */
export interface Bodies {
  readonly purpose: string
  readonly objectId: number
  headerOf(version: number): Uint8Array
}

/** Returns how records, and transient values, of an object id are sealed, or the entries of a kind. */
export function bodiesOf(kind: 'record', objectId: number): Bodies
export function bodiesOf(kind: keyof typeof KINDS): Bodies
export function bodiesOf(kind: 'record' | keyof typeof KINDS, objectId = 0): Bodies {
  return kind === 'record'
    ? { purpose: RECORD_PURPOSE, objectId, headerOf: writeBodyHeader }
    : { ...KINDS[kind], headerOf: writeHeader }
}

/**
 * Opens each body with the key it is sealed with, and seals it with the active one, bound to the same row. A body that does not open is empty in the
 * result, and 0 in `opened`. The plaintexts are overwritten.
 */
export function resealBodies(
  { ring, vault }: Omit<EntriesAddress, 'kind'>,
  { purpose, objectId, headerOf }: Bodies,
  { ids, sealed }: { readonly ids: readonly number[]; readonly sealed: readonly Uint8Array[] },
): { readonly resealed: readonly Uint8Array[]; readonly opened: Uint8Array } {
  const bodies = toSlab(sealed)
  const versions = readVersions(bodies)
  const formatAt = (index: number): number => formatOf(sealed[index]?.[0] ?? 0)
  const before = writeAssociatedData({ vault, objectId }, ids, (index) => required(versions[index]), formatAt)
  const { plaintexts, opened } = ring.open(purpose, HEADER_BYTES, versions, bodies, before)
  const header = headerOf(ring.activeVersion)
  const format = formatOf(required(header[0]))
  const after = writeAssociatedData(
    { vault, objectId },
    ids,
    () => ring.activeVersion,
    () => format,
  )
  const slab = ring.seal(purpose, header, plaintexts, after)
  plaintexts.bytes.fill(0)
  return { resealed: ids.map((_, index) => (opened[index] === 1 ? slabItem(slab, index) : new Uint8Array(0))), opened }
}

/** New events of a chain, and its head after them. */
export interface AppendedEntries {
  readonly chain: number
  /** Row ids of the events. */
  readonly ids: readonly number[]
  /** The plaintexts of the events, in order, and then that of the head. */
  readonly plaintexts: Slab
}

/** Returns the sealed events, in order, and then the sealed head: one call for all, because a call costs as much as an event. */
export function sealAppended({ ring, vault }: Omit<EntriesAddress, 'kind'>, { chain, ids, plaintexts }: AppendedEntries): Slab {
  const version = ring.activeVersion
  const associatedData = new Uint8Array((ids.length + 1) * AAD_BYTES)
  for (let i = 0; i < ids.length; i++) {
    writeAddress(associatedData, i, { vault, objectId: KINDS.event.objectId, id: required(ids[i]), version })
  }
  writeAddress(associatedData, ids.length, { vault, objectId: KINDS.head.objectId, id: chain, version })
  return ring.seal(KINDS.event.purpose, writeHeader(version), plaintexts, associatedData)
}

/** A decoded pointer. `checkHigh` (26 bits) and `checkLow` (32 bits) are the token check of the cell in a token, the version in a version of a record, and zero in a record id. */
export interface Pointer {
  readonly objectId: number
  readonly row: number
  readonly checkHigh: number
  readonly checkLow: number
}

/** Writes a pointer at index `index` of a list of words. Layout in bits: object id 16 | row 48 | token check 64. */
export function writePointer(words: Uint32Array, index: number, { objectId, row, checkHigh, checkLow }: Pointer): void {
  const start = index * POINTER_WORDS
  words[start] = (objectId << 16) | Math.floor(row / 0x1_0000_0000)
  words[start + 1] = row >>> 0
  words[start + 2] = checkHigh
  words[start + 3] = checkLow
}

/** Returns the pointer at index `index` of a list of words. Throws `internal` if the list is too short. */
export function readPointer(words: Uint32Array, index: number): Pointer {
  const start = index * POINTER_WORDS
  const top = required(words[start])
  return {
    objectId: top >>> 16,
    row: (top & 0xffff) * 0x1_0000_0000 + required(words[start + 1]),
    checkHigh: required(words[start + 2]),
    checkLow: required(words[start + 3]),
  }
}

const CAPITAL = /[A-F]/

/** Returns texts as ids and other pointers are made: in lower case. A UUID can be given in capitals. */
export function toUuidTexts(texts: readonly string[]): readonly string[] {
  return texts.some((text) => CAPITAL.test(text)) ? texts.map((text) => text.toLowerCase()) : texts
}

/** Sets the version and variant bits of a 16-byte digest in place and returns it. 122 bits of the digest are kept. */
export function toDigestUuid(digest: Uint8Array): Uint8Array {
  digest[6] = (at(digest, 6) & 0x0f) | 0x80
  digest[8] = (at(digest, 8) & 0x3f) | 0x80
  return digest
}
