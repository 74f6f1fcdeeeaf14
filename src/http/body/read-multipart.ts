/** Reads a multipart body that has one file, and fields in any order. The content of the file is read as it arrives. */
import { VaultError } from '../../index.ts'
import type { HttpRequest } from '../router/http-message.ts'
import { type CollectedBytes, collectBytes, decodeUtf8 } from './body-bytes.ts'
import type { PartHeader } from './header-parameters.ts'
import { type PartEvent, readParts } from './multipart-parser.ts'

/** Maximum length of a field, in bytes. */
const MAX_FIELD_BYTES = 65_536
/** Maximum length of a file that is held in memory until the required fields behind it are read, in bytes. */
const MAX_HELD_BYTES = 1_048_576

/** The parts that a body can have. */
export interface MultipartShape {
  /** Key of the file. Absent: the body has one part, under any key, and this is the file. */
  readonly file?: string
  /** Keys of the fields. Default: none. */
  readonly fields?: readonly string[]
  /** Keys of the fields that have to be known before the content is read. Default: none. */
  readonly required?: readonly string[]
}

/** A body whose file can be read. */
export interface MultipartUpload {
  /** Key of the file. */
  readonly key: string
  /** Name of the file, as the client sent it: any text. Undefined if it sent none. */
  readonly fileName: string | undefined
  /** The fields read so far, by key: those in front of the file. All of them once the content has been read to its end. */
  readonly fields: ReadonlyMap<string, string>
  /**
   * The content. It can be read once. Its end is reached only after the rest of the body was read and checked. Throws `invalid_request` for a
   * body that is truncated, has another file or another part, `limit_exceeded`, and `cancelled` if the client goes away.
   */
  readonly content: AsyncIterable<Uint8Array>
  /** Reads no more. Has to be called if the content is not read to its end. Never waits for the client. */
  close(): void
}

/** A body that is being read. */
interface Reading {
  readonly shape: MultipartShape
  readonly events: AsyncGenerator<PartEvent>
  readonly fields: Map<string, string>
  hasFile: boolean
}

/** The part of the content that is in memory, and whether that is all. */
interface Held {
  readonly bytes: CollectedBytes
  isWhole: boolean
}

/**
 * Reads a body up to its file. If required fields come behind the file, holds up to 1 MiB of it to read them; fields that the body does not
 * have at all are left to the caller. Throws `invalid_request` for a body that is not multipart, is truncated, has no file or another part,
 * and `limit_exceeded` for over 10 parts, a field over 64 KiB, and a header over 16 KiB.
 */
export async function readMultipart(request: HttpRequest, shape: MultipartShape = {}): Promise<MultipartUpload> {
  const reading: Reading = { shape, events: readParts(request), fields: new Map(), hasFile: false }
  try {
    const header = await readFields(reading)
    if (header === undefined) throw new VaultError('invalid_request', 'The multipart body has no file.')
    const held: Held = { bytes: heldBytes(shape), isWhole: false }
    if (isIncomplete(reading)) await holdFile(reading, held)
    return {
      key: header.key,
      fileName: header.fileName,
      fields: reading.fields,
      content: contentOf(reading, held),
      close: () => close(reading),
    }
  } catch (error) {
    close(reading)
    throw error
  }
}

/** Reads fields up to the file. With `isDone`, also stops there. Returns the header of the file; undefined if there is none. */
async function readFields(reading: Reading, isDone = (): boolean => false): Promise<PartHeader | undefined> {
  while (!isDone()) {
    const event = await nextEvent(reading)
    if (event?.kind !== 'part') return undefined
    if (isFile(reading, event.header)) return event.header
    reading.fields.set(event.header.key, await readField(reading))
  }
  return undefined
}

/** Returns whether a part is the file, not a field. Throws for a part that cannot come. Its key is not repeated: it can be any text. */
function isFile(reading: Reading, { key }: PartHeader): boolean {
  const { file, fields = [] } = reading.shape
  if (file === undefined || key === file) {
    if (reading.hasFile) throw new VaultError('invalid_request', 'The multipart body has more than one file. Send one.')
    reading.hasFile = true
    return true
  }
  if (!fields.includes(key)) {
    throw new VaultError('invalid_request', `The multipart body has an unknown part. Send only ${[...fields, file].join(', ')}.`)
  }
  if (reading.fields.has(key)) throw new VaultError('invalid_request', `The multipart body has the part ${key} twice.`)
  return false
}

async function readField(reading: Reading): Promise<string> {
  const bytes = collectBytes(
    MAX_FIELD_BYTES,
    () => new VaultError('limit_exceeded', `A part of the multipart body is longer than ${MAX_FIELD_BYTES} bytes.`),
  )
  for await (const data of dataOf(reading)) bytes.add(data)
  const text = decodeUtf8(bytes.take())
  if (text === undefined) throw new VaultError('invalid_request', 'A part of the multipart body is not valid UTF-8.')
  return text
}

/** Returns nothing of a file yet. More of it than is held throws `invalid_request`. */
function heldBytes({ required = [] }: MultipartShape): CollectedBytes {
  return collectBytes(
    MAX_HELD_BYTES,
    () => new VaultError('invalid_request', `The file is longer than 1 MiB. Put the parts ${required.join(' and ')} before it.`),
  )
}

/** Reads the file into memory, and then the fields behind it until no required one is missing. */
async function holdFile(reading: Reading, held: Held): Promise<void> {
  for await (const data of dataOf(reading)) held.bytes.add(data)
  held.isWhole = true
  await readFields(reading, () => !isIncomplete(reading))
}

function isIncomplete({ shape: { required = [] }, fields }: Reading): boolean {
  return required.some((key) => !fields.has(key))
}

async function* contentOf(reading: Reading, held: Held): AsyncGenerator<Uint8Array> {
  try {
    const start = held.bytes.take()
    if (start.length > 0) yield start
    if (!held.isWhole) yield* dataOf(reading)
    await readFields(reading)
  } finally {
    close(reading)
  }
}

/** Yields the data of the part whose beginning was read last. */
async function* dataOf(reading: Reading): AsyncGenerator<Uint8Array> {
  for (;;) {
    const event = await nextEvent(reading)
    if (event?.kind !== 'data') return
    yield event.data
  }
}

async function nextEvent({ events }: Reading): Promise<PartEvent | undefined> {
  const { done, value } = await events.next()
  return done === true ? undefined : value
}

/** Does not wait: a read that waits for the client ends when the client goes on, or goes away. */
function close({ events }: Reading): void {
  events.return(undefined).catch(() => {})
}
