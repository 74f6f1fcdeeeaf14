/** Long files over HTTP: no more of one is in memory than is being moved, and nothing is left of a transfer that its client ends early. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { describe, expect, it } from 'vitest'
import type { BlobStore } from '../../../src/blob-port.ts'
import { toNodeHandler } from '../../../src/http/index.ts'
import { OWNER_CREDENTIAL } from '../../support/http/ask.ts'
import { multipart } from '../../support/http/multipart.ts'
import { type ServedFiles, serveFiles } from '../../support/http/serve-files.ts'
import { memoryEngine, sqliteEngine } from '../../support/storages/engines.ts'

const UPLOAD = '/v2/vaults/v1/files/upload'
const MIB = 2 ** 20
const LENGTH = 64 * MIB
/** What the buffers of the sockets of both ends can hold, and some chunks. A server that collects a body would hold four times as much. */
const IN_FLIGHT = 16 * MIB

describe.each([
  ['memory', memoryEngine],
  ['sqlite', sqliteEngine],
] as const)('files over sockets on %s', (_, open) => {
  const engine = open()
  /** Serves a vault. `handled` waits until this many requests have arrived and are over. */
  const served = async (
    work: (files: ServedFiles, handled: (requests: number) => Promise<unknown>) => Promise<void>,
    blobs?: BlobStore,
  ) => {
    const handling: Promise<void>[] = []
    const files = await serveFiles(engine, {
      ...(blobs === undefined ? {} : { blobs }),
      listener: (handler) => {
        const handle = toNodeHandler(handler)
        return (incoming, outgoing) => void handling.push(handle(incoming, outgoing))
      },
    })
    try {
      await work(files, async (requests) => {
        while (handling.length < requests) await new Promise((resolve) => setImmediate(resolve))
        await Promise.all(handling)
      })
    } finally {
      await files.close()
    }
  }
  const team = async ({ session }: ServedFiles): Promise<string> =>
    (await session.insert('teams', [{ fields: { name: 'Ann' } }])).records[0]?.id ?? ''
  const partsOf = (id: string, content: Uint8Array) =>
    multipart(
      { key: 'tableName', content: 'teams' },
      { key: 'columnName', content: 'badge' },
      { key: 'svcID', content: id },
      { key: 'file', content, fileName: 'badge.txt' },
    )
  const begin = (files: ServedFiles, [method, path]: readonly [string, string], headers = {}): ClientRequest =>
    request({
      ...{ host: '127.0.0.1', port: files.port, method, path, agent: false },
      headers: { authorization: `Bearer ${OWNER_CREDENTIAL}`, ...headers },
    })

  it('store no faster than the store takes it, and send no faster than the client takes it', async () => {
    const store = stallingBlobs()
    await served(async (files) => {
      const { headers, body } = partsOf(await team(files), Buffer.alloc(0))
      const [head, tail] = [body.subarray(0, body.lastIndexOf('\r\n--')), body.subarray(body.lastIndexOf('\r\n--'))]
      let sent = 0
      const upload = files.send(
        ...(['POST', UPLOAD] as const),
        (async function* () {
          yield head
          for (; sent < LENGTH; sent += MIB) {
            // The store takes on when nothing more is taken off this end.
            if (sent - store.writtenBytes > IN_FLIGHT) throw new Error(`${sent - store.writtenBytes} bytes are in flight`)
            yield Buffer.alloc(MIB, 'long ')
          }
          yield tail
        })(),
        headers,
      )
      await unchanged(() => sent)
      expect(sent).toBeLessThan(IN_FLIGHT)
      store.go()
      const { status, json } = await upload
      expect([status, json]).toEqual([200, { svcID: expect.any(String) }])

      const { json: record } = await files.ask('GET', `/v1/vaults/v1/teams/${json.svcID}?downloadURL=true&redaction=PLAIN_TEXT`)
      const outgoing = begin(files, ['GET', new URL(record.fields.badge).pathname]).end()
      const [response]: IncomingMessage[] = await once(outgoing, 'response')
      response?.pause()
      await unchanged(() => store.readBytes)
      expect(store.readBytes).toBeLessThan(IN_FLIGHT)
      const hash = createHash('sha256')
      for await (const chunk of response ?? []) hash.update(chunk)
      const whole = createHash('sha256')
      for (let at = 0; at < LENGTH; at += MIB) whole.update(Buffer.alloc(MIB, 'long '))
      expect(hash.digest('hex')).toBe(whole.digest('hex'))
    }, store)
  })

  it('keep nothing of an upload whose client goes away, wherever that is', () =>
    served(async (files, handled) => {
      const id = await team(files)
      const { headers, body } = partsOf(id, Buffer.alloc(700_000, 'content '))
      const ends = [1, 40, 200, 420, 5_000, 65_536, 262_144, 600_000, body.length - 20, body.length - 3]
      for (const end of ends) {
        const outgoing = begin(files, ['POST', UPLOAD], { ...headers, 'content-length': body.length }).on('error', () => {})
        await new Promise((resolve) => outgoing.write(body.subarray(0, end), resolve))
        outgoing.destroy()
      }
      await handled(ends.length)
      expect(await files.fileRows()).toBe(0)
      expect(files.blobs.keys()).toEqual([])
      expect((await files.session.getOne('teams', id)).fields.badge).toBeNull()
    }))

  it('keep nothing of an upload by ticket whose client goes away, and take it again', () =>
    served(async (files, handled) => {
      const { tickets } = await files.session.uploadTicket({ table: 'teams', id: await team(files), columns: ['badge'] })
      const path = `/v1/files/v1/${tickets.badge.ticket}`
      for (const [number, end] of [1, 70_000, 299_999].entries()) {
        const outgoing = begin(files, ['PUT', path], { 'content-length': 300_000 }).on('error', () => {})
        await new Promise((resolve) => outgoing.write(Buffer.alloc(end, 'x'), resolve))
        outgoing.destroy()
        await handled(number + 1)
      }
      expect(files.blobs.keys()).toEqual([])
      const again = await files.ask('PUT', path, { body: 'content' })
      expect([again.status, again.text]).toEqual([200, expect.stringContaining('svcID')])
    }))

  it('read no more of a file whose client goes away', async () => {
    const store = stallingBlobs()
    store.go()
    await served(async (files, handled) => {
      const id = await team(files)
      await files.session.uploadFile({ table: 'teams', id, column: 'badge', file: Buffer.alloc(LENGTH, 'long ') })
      const { ticket } = await files.session.downloadTicket('teams', id, 'badge')
      const outgoing = begin(files, ['GET', `/v1/files/v1/${ticket}`])
        .on('error', () => {})
        .end()
      const [response]: IncomingMessage[] = await once(outgoing, 'response')
      response?.destroy()
      await handled(1)
      expect([store.readers, store.readBytes < LENGTH]).toEqual([0, true])
    }, store)
  })
})

/** A blob store in memory that takes nothing before `go`, and counts what it took and gave. */
function stallingBlobs(): BlobStore & {
  go(): void
  readonly writtenBytes: number
  readonly readBytes: number
  readonly readers: number
} {
  const stored = new Map<string, Buffer[]>()
  let go = (): void => {}
  const gone = new Promise<void>((resolve) => {
    go = resolve
  })
  let [writtenBytes, readBytes, readers] = [0, 0, 0]
  return {
    go: () => go(),
    get writtenBytes() {
      return writtenBytes
    },
    get readBytes() {
      return readBytes
    },
    get readers() {
      return readers
    },
    async write(key, content) {
      await gone
      const chunks: Buffer[] = []
      for await (const chunk of content) {
        chunks.push(Buffer.from(chunk))
        writtenBytes += chunk.length
      }
      stored.set(key, chunks)
    },
    async *read(key, { start, end }) {
      readers++
      try {
        let at = 0
        for (const chunk of stored.get(key) ?? []) {
          const part = chunk.subarray(Math.max(0, start - at), Math.max(0, end - at))
          at += chunk.length
          readBytes += part.length
          if (part.length > 0) yield part
        }
      } finally {
        readers--
      }
    },
    async delete(keys) {
      for (const key of keys) stored.delete(key)
    },
    async close() {},
  }
}

/** Waits until a number stays the same for many turns of the event loop. */
async function unchanged(number: () => number): Promise<void> {
  for (let [before, turns] = [number(), 0]; turns < 2_000; turns++) {
    await new Promise((resolve) => setImmediate(resolve))
    if (number() !== before) [before, turns] = [number(), 0]
  }
}
