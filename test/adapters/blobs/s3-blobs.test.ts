/** Blobs in an S3-compatible store: the conformance suite, and what is special to objects and to requests that fail. */
import { createServer } from 'node:net'
import { inspect } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { s3Blobs } from '../../../src/adapters/blobs/index.ts'
import { inChunks, keyOf, LARGE, MIB, put, read, sampleBytes } from '../../../src/conformance/blobs/sample.ts'
import type { BlobStore } from '../../../src/core/ports/blobs.ts'
import { clientOf } from '../../support/blobs/open-blobs.ts'
import { runBlobCases } from '../../support/blobs/run-blob-cases.ts'
import { type RequestFailure, type S3Server, startS3 } from '../../support/blobs/s3-server.ts'

let server: S3Server
let places = 0

beforeAll(async () => {
  server = await startS3('vault')
})
afterEach(() => server.failWith(undefined))
afterAll(() => server.close())

runBlobCases('S3', () => {
  let prefix = ''
  const reopen = async () => s3Blobs({ client: server.client(), bucket: 'vault', prefix })
  return {
    open() {
      prefix = `place-${++places}/`
      return reopen()
    },
    reopen,
    stored: (key) => server.stored('vault', prefix + key),
  }
})

async function errorOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  )
}

describe('blobs in an S3-compatible store', () => {
  /** A store on an empty prefix, and its prefix. */
  function open(): { readonly store: BlobStore; readonly prefix: string } {
    const prefix = `place-${++places}/`
    return { store: s3Blobs({ client: server.client(), bucket: 'vault', prefix }), prefix }
  }

  it('are one request below 8 MiB, and three besides their parts above', async () => {
    const { store } = open()
    const before = server.requests()
    await put(store, keyOf(1), sampleBytes(1000))
    expect(server.requests() - before).toBe(1)
    await put(store, keyOf(2), sampleBytes(LARGE))
    expect(server.requests() - before).toBe(5)
  })

  it('leave no object and no upload if a part fails, and fail with the code of the part', async () => {
    const { store, prefix } = open()
    const failures: readonly (readonly [RequestFailure, string])[] = [
      [{ status: 503, code: 'SlowDown' }, 'unavailable'],
      ['reset', 'unavailable'],
      [{ status: 403, code: 'AccessDenied' }, 'internal'],
      [{ status: 507, code: 'XMinioStorageFull' }, 'storage_full'],
    ]
    const bytes = sampleBytes(2 * LARGE)
    for (const [failure, code] of failures) {
      server.failWith((request) => (request.includes('partNumber=2') ? failure : undefined))
      const error = await errorOf(store.write(keyOf(1), inChunks(bytes, MIB)))
      expect(error).toMatchObject({ code })
      expect(inspect(error)).not.toMatch(/vault\/|place-|127\.0/)
      expect(await server.stored('vault', prefix + keyOf(1))).toBeUndefined()
    }
  })

  it('ask content for nothing more once a part has failed', async () => {
    const { store } = open()
    server.failWith((request) => (request.includes('partNumber=1') ? { status: 503, code: 'SlowDown' } : undefined))
    let [given, ended] = [0, false]
    async function* content(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          given++
          yield sampleBytes(MIB)
        }
      } finally {
        ended = true
      }
    }
    await errorOf(store.write(keyOf(1), content()))
    expect([given <= 17, ended]).toEqual([true, true])
  })

  it('are unavailable where the store cannot be reached, in every call', async () => {
    const { store } = open()
    await put(store, keyOf(1), sampleBytes(100))
    server.failWith(() => 'reset')
    expect(await errorOf(put(store, keyOf(2), sampleBytes(100)))).toMatchObject({ code: 'unavailable' })
    expect(await errorOf(read(store, keyOf(1)))).toMatchObject({ code: 'unavailable' })
    expect(await errorOf(store.delete([keyOf(1)]))).toMatchObject({ code: 'unavailable' })
  })

  it('are unavailable if the connection ends in the middle of a read, and the bytes before are right', async () => {
    const bytes = sampleBytes(500_000)
    const socketServer = createServer((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 206 Partial Content\r\ncontent-length: 500000\r\n\r\n')
        socket.end(bytes.subarray(0, 200_000))
      })
    })
    await new Promise<void>((resolve) => socketServer.listen(0, '127.0.0.1', resolve))
    const address = socketServer.address()
    if (address === null || typeof address === 'string') throw new Error('The server has no port.')
    const client = clientOf(`http://127.0.0.1:${address.port}`)
    let received = 0
    const reading = (async () => {
      for await (const chunk of s3Blobs({ client, bucket: 'vault' }).read(keyOf(1), { start: 0, end: 500_000 })) {
        expect(Buffer.from(chunk).equals(bytes.subarray(received, received + chunk.length))).toBe(true)
        received += chunk.length
      }
    })()
    expect(await errorOf(reading)).toMatchObject({ code: 'unavailable' })
    expect(received).toBeLessThan(500_000)
    client.destroy()
    socketServer.close()
  })

  it('are internal, and not missing, in a bucket that does not exist', async () => {
    const store = s3Blobs({ client: server.client(), bucket: 'other' })
    const error = await errorOf(read(store, keyOf(1)))
    expect(error).toMatchObject({ code: 'internal' })
    expect(inspect(error)).not.toContain('other')
  })

  it('are kept by a deletion that the store refuses, which fails', async () => {
    const { store } = open()
    await put(store, keyOf(1), sampleBytes(100))
    server.failWith((request) => (request.includes('delete') ? { status: 403, code: 'AccessDenied' } : undefined))
    expect(await errorOf(store.delete([keyOf(1)]))).toMatchObject({ code: 'internal' })
    server.failWith(undefined)
    expect(await read(store, keyOf(1))).toEqual(sampleBytes(100))
  })

  it('keep the objects of other prefixes', async () => {
    const [one, two] = [open(), open()]
    await put(one.store, keyOf(1), sampleBytes(10))
    await put(two.store, keyOf(1), sampleBytes(20))
    await one.store.delete([keyOf(1)])
    expect((await read(two.store, keyOf(1))).length).toBe(20)
  })

  it('leave the client of the application open', async () => {
    const client = server.client()
    const store = s3Blobs({ client, bucket: 'vault' })
    await store.close()
    await put(s3Blobs({ client, bucket: 'vault' }), keyOf(1), sampleBytes(10))
  })
})
