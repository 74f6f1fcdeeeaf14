/** Reads the content of an upload from what callers have: bytes, a Blob, a web stream, a Node stream, or any async iterable of bytes. */
import { fault } from '../errors.ts'
import { type Signal, unlessAborted } from '../util/signal.ts'

/** Returns the content as an async iterable, whose chunks are not checked yet. Throws `invalid_request` for anything else. */
export function toSource(file: unknown): AsyncIterable<unknown> {
  if (file instanceof Uint8Array) return once(file)
  if (file instanceof ArrayBuffer) return once(new Uint8Array(file))
  if (isAsyncIterable(file)) return file
  if (typeof file === 'object' && file !== null) {
    const stream: unknown = Reflect.get(file, 'stream')
    // A Blob or a File: its stream is a new one at each call.
    const opened: unknown = typeof stream === 'function' ? Reflect.apply(stream, file, []) : undefined
    if (isAsyncIterable(opened)) return opened
  }
  throw fault(
    'invalid_request',
  )`file must be a Uint8Array, a Blob, a web stream, a Node stream, or another async iterable of bytes.`
}

/** Returns the source with an end: after an abort it throws `cancelled`, also while a chunk is waited for that may never come. */
export function untilAborted(source: AsyncIterable<unknown>, signal: Signal | undefined): AsyncIterable<unknown> {
  if (signal === undefined) return source
  return {
    [Symbol.asyncIterator]() {
      const chunks = source[Symbol.asyncIterator]()
      return {
        next: () => unlessAborted(signal, () => chunks.next()),
        return: async () => (await chunks.return?.()) ?? { done: true, value: undefined },
      }
    },
  }
}

/** Returns the name that a File has; undefined for anything else. */
export function nameOfFile(file: unknown): string | undefined {
  const name: unknown = typeof file === 'object' && file !== null ? Reflect.get(file, 'name') : undefined
  return typeof name === 'string' ? name : undefined
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, Symbol.asyncIterator) === 'function'
}
