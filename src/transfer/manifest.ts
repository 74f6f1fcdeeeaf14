/** What a backup has: the id and version of every row, by which the next one finds what changed, and some rows by which it sees that it is of the same vault. */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import { VaultError } from '../core/errors.ts'
import { sameBytes, toUtf8 } from '../core/util/bytes.ts'

/** The rows of one table: ids, rising, and the version of each. */
export interface TableManifest {
  readonly ids: ArrayLike<number>
  readonly versions: ArrayLike<number>
}

/** A row that must still be the same as long as it has the same version: else the vault was restored since, and equal versions say nothing. */
export interface Anchor {
  readonly table: string
  readonly id: number
  readonly version: number
  /** SHA-256 of the row, as hex digits. */
  readonly digest: string
}

/** What a backup has. */
export interface Manifest {
  readonly tables: ReadonlyMap<string, TableManifest>
  readonly anchors: readonly Anchor[]
}

const MAGIC = toUtf8('strongroom manifest 1\n')
const HASH_BYTES = 32
const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)

/** Returns a manifest as bytes: ids as differences, deflated, which is a fraction of a byte for a row that did not change. */
export async function encodeManifest({ tables, anchors }: Manifest): Promise<Uint8Array> {
  const lists = [...tables].map(([name, { ids }]) => ({ name, count: ids.length }))
  const head = toUtf8(JSON.stringify({ lists, anchors }))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(head.length)
  const content = Buffer.concat([
    MAGIC,
    await deflate(Buffer.concat([length, head, ...Array.from(tables.values(), packNumbers)])),
  ])
  return Buffer.concat([content, createHash('sha256').update(content).digest()])
}

/** Returns the manifest of bytes that `encodeManifest` made. Throws `data_loss` if they were changed. */
export async function decodeManifest(bytes: Uint8Array): Promise<Manifest> {
  const end = bytes.length - HASH_BYTES
  const content = bytes.subarray(0, Math.max(0, end))
  const isWhole = sameBytes(bytes.subarray(Math.max(0, end)), createHash('sha256').update(content).digest())
  if (!isWhole || !sameBytes(content.subarray(0, MAGIC.length), MAGIC))
    throw new VaultError(
      'data_loss',
      'The manifest of the earlier backup was changed or cut. Use a copy of it, or make a full backup.',
    )
  const plain = await inflate(content.subarray(MAGIC.length))
  const headEnd = 4 + plain.readUInt32BE(0)
  // The cast is safe: the digest shows that `encodeManifest` wrote it.
  const { lists, anchors } = JSON.parse(plain.toString('utf8', 4, headEnd)) as {
    readonly lists: readonly { readonly name: string; readonly count: number }[]
    readonly anchors: readonly Anchor[]
  }
  const tables = new Map<string, TableManifest>()
  let at = headEnd
  for (const { name, count } of lists) {
    const ids = new Float64Array(count)
    const versions = new Float64Array(count)
    for (let i = 0; i < count; i++) {
      const id = readNumber(plain, at)
      const version = readNumber(plain, id.end)
      ids[i] = (ids[i - 1] ?? 0) + id.value
      versions[i] = version.value
      at = version.end
    }
    tables.set(name, { ids, versions })
  }
  return { tables, anchors }
}

/** Returns the name of a manifest: its SHA-256 as hex digits. */
export function nameOfManifest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Bytes of a number at most: 7 bits in each, the lowest first. */
const MAX_NUMBER_BYTES = 8

function packNumbers({ ids, versions }: TableManifest): Uint8Array {
  const bytes = new Uint8Array(ids.length * 2 * MAX_NUMBER_BYTES)
  let at = 0
  let before = 0
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i] ?? 0
    at = writeNumber(bytes, at, id - before)
    at = writeNumber(bytes, at, versions[i] ?? 0)
    before = id
  }
  return bytes.subarray(0, at)
}

/** Returns the position after the number. */
function writeNumber(bytes: Uint8Array, start: number, number: number): number {
  let at = start
  let rest = number
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) + 128
  bytes[at++] = rest
  return at
}

function readNumber(bytes: Uint8Array, start: number): { readonly value: number; readonly end: number } {
  let value = 0
  let factor = 1
  for (let at = start; ; at++) {
    const byte = bytes[at] ?? 0
    value += (byte % 128) * factor
    if (byte < 128) return { value, end: at + 1 }
    factor *= 128
  }
}
