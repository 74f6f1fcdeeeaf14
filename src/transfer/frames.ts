/** A backup as frames: each has its length, its kind and its content, and a SHA-256 that covers all frames before it. */
import { createHash } from 'node:crypto'
import { VaultError } from '../core/errors.ts'
import { sameBytes, toUtf8 } from '../core/util/bytes.ts'
import type { ByteReader } from './byte-reader.ts'

/** The first bytes of every backup. Raised by whatever an older release would misread. */
export const BACKUP_MAGIC = toUtf8('strongroom backup 1\n')

/**
 * The kinds of frames. `header` and `trailer` are JSON, and the first and the last of a backup. `rows` and `gone` begin with the number of the table
 * in the header.
 */
const KINDS = ['header', 'rows', 'gone', 'trailer'] as const
type FrameKind = (typeof KINDS)[number]

/** A frame that was checked. */
export interface Frame {
  readonly kind: FrameKind
  /** The number of the table, for rows. */
  readonly table: number
  readonly content: Uint8Array
}

const HASH_BYTES = 32
/** Before the content: its length, the kind, and the number of the table. */
const HEAD_BYTES = 9
/** Bytes of a frame at most. A row can have a cell of some MiB. */
const MAX_FRAME_BYTES = 512 * 1024 * 1024

/** Returns a function that makes the bytes of the next frame of a backup. Those of the first begin the backup. */
export function createFrameWriter(): (kind: FrameKind, content: Uint8Array, table?: number) => Uint8Array {
  let chained: Uint8Array | undefined
  return (kind, content, table = 0) => {
    const head = headOf({ kind, table, content })
    const begin = chained === undefined ? [BACKUP_MAGIC] : []
    chained = hashOf(chained ?? BACKUP_MAGIC, head, content)
    return Buffer.concat([...begin, head, content, chained])
  }
}

function headOf({ kind, table, content }: Frame): Uint8Array {
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUInt32BE(content.length, 0)
  head.writeUInt8(KINDS.indexOf(kind), 4)
  head.writeUInt32BE(table, 5)
  return head
}

/**
 * Yields the frames of a backup after its first bytes, each only when it was checked. The last one is the trailer. Throws `data_loss` for any byte that is another one, and where
 * the backup ends before its trailer or goes on after it.
 */
export async function* readFrames(reader: ByteReader): AsyncGenerator<Frame> {
  let chained: Uint8Array = BACKUP_MAGIC
  for (let kind: FrameKind | undefined; kind !== 'trailer'; ) {
    const head = await reader.read(HEAD_BYTES)
    const view = Buffer.from(head.buffer, head.byteOffset, head.length)
    const length = view.readUInt32BE(0)
    kind = KINDS[view.readUInt8(4)]
    if (length > MAX_FRAME_BYTES || kind === undefined) throw changed()
    const content = await reader.read(length)
    chained = hashOf(chained, head, content)
    const isWhole = sameBytes(await reader.read(HASH_BYTES), chained) && (kind !== 'trailer' || (await reader.isAtEnd()))
    if (!isWhole) throw changed()
    yield { kind, table: view.readUInt32BE(5), content }
  }
}

/** Returns the error for a backup whose bytes are not those that were written. */
export function changed(): VaultError {
  return new VaultError(
    'data_loss',
    'The backup was changed or cut since it was written. Use another copy of it. Nothing of it opens.',
  )
}

function hashOf(...parts: readonly Uint8Array[]): Uint8Array {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}
