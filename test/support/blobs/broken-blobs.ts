/** Blob stores in memory that are broken on purpose, one fault each, which the conformance suite must detect. */
import { VaultError } from '../../../src/core/errors.ts'
import type { BlobStore, ByteRange } from '../../../src/core/ports/blobs.ts'
import { type MemoryPlace, memoryBlobs } from './memory-blobs.ts'

/** Returns the faulty methods over a correct store. */
type Fault = (store: BlobStore, place: MemoryPlace) => Partial<BlobStore>

/** Reads all chunks of a content. */
async function allOf(content: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = []
  for await (const chunk of content) chunks.push(chunk)
  return chunks
}

async function* each(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}

/** A fault of reads: what the chunks of a range become. */
const ofReads =
  (change: (chunks: AsyncIterable<Uint8Array>, range: ByteRange) => AsyncIterable<Uint8Array>): Fault =>
  (store) => ({ read: (key, range) => change(store.read(key, range), range) })

/** A fault of writes: what content becomes. */
const ofWrites =
  (change: (content: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>): Fault =>
  (store) => ({ write: (key, content) => store.write(key, change(content)) })

/** Faults that blob stores can have. */
export const FAULTS = {
  'a blob loses its last byte': ofReads(async function* (chunks) {
    const all = await allOf(chunks)
    const last = all.pop()
    yield* all
    if (last !== undefined && last.length > 1) yield last.subarray(0, -1)
  }),
  'a write of no bytes stores nothing': (store) => ({
    write: async (key, content) => {
      const chunks = await allOf(content)
      if (chunks.some(({ length }) => length > 0)) await store.write(key, each(chunks))
    },
  }),
  'an empty chunk ends the content': ofWrites(async function* (content) {
    for await (const chunk of content) {
      if (chunk.length === 0) return
      yield chunk
    }
  }),
  'an empty chunk is a byte': ofWrites(async function* (content) {
    for await (const chunk of content) yield chunk.length === 0 ? new Uint8Array(1) : chunk
  }),
  'chunks are stored longest first': ofWrites(async function* (content) {
    yield* (await allOf(content)).toSorted((left, right) => right.length - left.length)
  }),
  'a blob is seen while it is written': (store, { blobs, unfinished }) => ({
    read: (key, range) => {
      const chunks = unfinished.get(key)
      if (chunks === undefined) return store.read(key, range)
      const partial: MemoryPlace = { blobs: new Map(blobs), unfinished }
      partial.blobs.set(key, Uint8Array.from(Buffer.concat(chunks)))
      return memoryBlobs(partial).read(key, range)
    },
  }),
  'a write resolves before it is stored': (store) => ({
    write: async (key, content) => {
      const chunks = await allOf(content)
      setTimeout(() => void store.write(key, each(chunks)).catch(() => {}), 5)
    },
  }),
  'a handle has blobs of its own': (_store) => memoryBlobs({ blobs: new Map(), unfinished: new Map() }),
  'a range ends one byte late': (store) => ({
    read: (key, { start, end }) => store.read(key, { start, end: start === end ? end : end + 1 }),
  }),
  'a range begins at a multiple of 64 KiB': (store) => ({
    read: (key, { start, end }) => store.read(key, { start: start & ~0xffff, end }),
  }),
  'a range over the end fails': (store, { blobs }) => ({
    read: (key, range) => {
      if (range.end > (blobs.get(key)?.length ?? 0) && range.end < 2 ** 30) throw new VaultError('internal', 'out of range')
      return store.read(key, range)
    },
  }),
  'a range after the end fails': (store, { blobs }) => ({
    read: (key, range) => {
      if (range.start >= (blobs.get(key)?.length ?? Number.POSITIVE_INFINITY) && range.start > 0)
        throw new VaultError('internal', 'out of range')
      return store.read(key, range)
    },
  }),
  'an empty range is the whole blob': (store) => ({
    read: (key, { start, end }) => store.read(key, { start, end: start === end ? 2 ** 40 : end }),
  }),
  'an empty range of no blob is no error': (store) => ({
    read: (key, range) => (range.start === range.end ? each([]) : store.read(key, range)),
  }),
  'a read gives one chunk': ofReads(async function* (chunks) {
    yield Uint8Array.from(Buffer.concat(await allOf(chunks)))
  }),
  'a read gives empty chunks': ofReads(async function* (chunks) {
    for await (const chunk of chunks) {
      yield new Uint8Array()
      yield chunk
    }
  }),
  'a range is not checked': (store) => ({
    read: (key, range) => (range.start >= 0 && range.start <= range.end ? store.read(key, range) : each([])),
  }),
  'chunks are Buffers': ofReads(async function* (chunks) {
    for await (const chunk of chunks) yield Buffer.from(chunk)
  }),
  'chunks share their memory': ofReads(async function* (chunks) {
    const buffer = new Uint8Array(256 * 1024)
    for await (const chunk of chunks) {
      buffer.set(chunk)
      yield buffer.subarray(0, chunk.length)
    }
  }),
  'chunks are the stored memory': (store, { blobs }) => ({
    read: async function* (key, range) {
      yield* store.read(key, { start: range.start, end: range.start })
      const bytes = blobs.get(key) ?? new Uint8Array()
      for (let at = range.start; at < Math.min(range.end, bytes.length); at += 2 ** 18)
        yield bytes.subarray(at, Math.min(range.end, at + 2 ** 18))
    },
  }),
  'content is kept without a copy': (store) => ({
    write: async (key, content) => store.write(key, each(await allOf(content))),
  }),
  'chunks are kept for the next read': (store, { blobs }) => {
    const kept = new Map<string, Uint8Array[]>()
    return {
      read: async function* (key, range) {
        yield* store.read(key, { start: range.start, end: range.start })
        const bytes = blobs.get(key) ?? new Uint8Array()
        const chunks =
          kept.get(key) ??
          Array.from({ length: Math.ceil(bytes.length / 2 ** 18) }, (_, k) => bytes.slice(k * 2 ** 18, (k + 1) * 2 ** 18))
        kept.set(key, chunks)
        yield* chunks
      },
    }
  },
  'the whole buffer of a view is stored': ofWrites(async function* (content) {
    for await (const chunk of content) yield new Uint8Array(chunk.buffer)
  }),
  'content that throws leaves its first bytes': (store) => ({
    write: async (key, content) => {
      const chunks: Uint8Array[] = []
      try {
        for await (const chunk of content) chunks.push(chunk)
      } catch (error) {
        await store.write(key, each(chunks))
        throw error
      }
      await store.write(key, each(chunks))
    },
  }),
  'an error of content is wrapped': (store) => ({
    write: (key, content) =>
      store.write(key, content).catch((error: unknown) => {
        throw new VaultError('internal', 'The write failed.', {}, { cause: error instanceof Error ? error : undefined })
      }),
  }),
  'an error of content that has a code is mapped': (store) => ({
    write: (key, content) =>
      store.write(key, content).catch((error: unknown) => {
        throw error instanceof Error && 'code' in error ? new VaultError('internal', 'The write failed.') : error
      }),
  }),
  'a write that fails removes all blobs': (store, { blobs }) => ({
    write: (key, content) =>
      store.write(key, content).catch((error: unknown) => {
        blobs.clear()
        throw error
      }),
  }),
  'nothing is deleted': () => ({ delete: async () => {} }),
  'a key without a blob cannot be deleted': (store, { blobs, unfinished }) => ({
    delete: async (keys) => {
      for (const key of keys) {
        if (!blobs.has(key) && !unfinished.has(key)) throw new VaultError('not_found', 'no such blob')
        await store.delete([key])
      }
    },
  }),
  'only the first of many is deleted': (store) => ({ delete: (keys) => store.delete(keys.slice(0, 1)) }),
  'keys of the same beginning are one': (store) => ({
    write: (key, content) => store.write(`${key.slice(0, 31)}0`, content),
    read: (key, range) => store.read(`${key.slice(0, 31)}0`, range),
  }),
  'unfinished writes are not deleted': (store, { blobs }) => ({
    delete: (keys) => store.delete(keys.filter((key) => blobs.has(key))),
  }),
  'unfinished writes are kept in memory': (store) => ({
    write: async (key, content) => store.write(key, each((await allOf(content)).map((chunk) => chunk.slice()))),
  }),
  'a write goes on after a deletion, without what was deleted': (_store, { blobs, unfinished }) => ({
    write: async (key, content) => {
      const chunks: Uint8Array[] = []
      unfinished.set(key, chunks)
      for await (const chunk of content) {
        if (!unfinished.has(key)) chunks.length = 0
        unfinished.set(key, chunks)
        chunks.push(chunk.slice())
      }
      unfinished.delete(key)
      blobs.set(key, Uint8Array.from(Buffer.concat(chunks)))
    },
  }),
  'a read ends early when the blob is deleted': (store, { blobs }) => ({
    read: async function* (key, range) {
      for await (const chunk of store.read(key, range)) {
        if (!blobs.has(key)) return
        yield chunk
      }
    },
  }),
  'writes at the same time share a buffer': (() => {
    let shared: Uint8Array[] = []
    let running = 0
    return (store) => ({
      write: async (key, content) => {
        if (running++ === 0) shared = []
        for await (const chunk of content) {
          shared.push(chunk.slice())
          await new Promise((resolve) => setImmediate(resolve))
        }
        running--
        await store.write(key, each([...shared]))
      },
    })
  })(),
  'readers at the same time share a position': (() => {
    let running = 0
    return (store) => ({
      read: async function* (key, range) {
        const others = running++
        try {
          const { start, end } = range
          yield* store.read(key, { start: Math.min(start + others, end), end })
          await new Promise((resolve) => setImmediate(resolve))
        } finally {
          running--
        }
      },
    })
  })(),
  'a write keeps reads away': (store, { unfinished }) => ({
    read: async function* (key, range) {
      if (unfinished.size > 0 && !unfinished.has(key)) throw new VaultError('unavailable', 'busy')
      yield* store.read(key, range)
    },
  }),
  'content is asked for many chunks at once': ofWrites(async function* (content) {
    const chunks = content[Symbol.asyncIterator]()
    for (;;) {
      const results = await Promise.all([chunks.next(), chunks.next()])
      for (const result of results) {
        if (result.done === true) return
        yield result.value
      }
    }
  }),
  'content is begun twice': (store) => ({
    write: async (key, content) => {
      content[Symbol.asyncIterator]()
      await store.write(key, content)
    },
  }),
  'a reader that stops early blocks its blob': (() => {
    let isStuck = false
    return (store) => ({
      read: async function* (key, range) {
        if (isStuck) throw new VaultError('unavailable', 'still open')
        isStuck = true
        for await (const chunk of store.read(key, range)) yield chunk
        isStuck = false
      },
    })
  })(),
  'a read begins before its first chunk is asked for': (store) => ({
    read: (key, range) => {
      const chunks = allOf(store.read(key, range))
      chunks.catch(() => {})
      return (async function* () {
        yield* await chunks
      })()
    },
  }),
  'a key without a blob is empty': (store, { blobs }) => ({
    read: (key, range) => (blobs.has(key) || !/^[0-9a-f]{32}$/.test(key) ? store.read(key, range) : each([])),
  }),
  'keys are not checked': (store) => ({
    delete: (keys) => store.delete(keys.filter((key) => /^[0-9a-f]{32}$/.test(key))),
  }),
  'keys are checked one by one': (store) => ({
    delete: async (keys) => {
      for (const key of keys) await store.delete([key])
    },
  }),
  'closing does nothing': () => ({ close: async () => {} }),
  'closing again fails': (store) => {
    let isClosed = false
    return {
      close: async () => {
        if (isClosed) throw new VaultError('unavailable', 'closed')
        isClosed = true
        await store.close()
      },
    }
  },
  'closing removes the blobs': (store, { blobs }) => ({
    close: async () => {
      blobs.clear()
      await store.close()
    },
  }),
} as const satisfies Readonly<Record<string, Fault>>

export type FaultName = keyof typeof FAULTS

/** A handle with one fault. */
export function brokenBlobs(fault: FaultName, place: MemoryPlace): BlobStore {
  const store = memoryBlobs(place)
  const faultOf: Fault = FAULTS[fault]
  return { ...store, ...faultOf(store, place) }
}
