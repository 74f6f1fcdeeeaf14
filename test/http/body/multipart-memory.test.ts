/** The memory of uploads: a slow reader slows the client down, and what arrives in pieces of one byte costs no more. */
import { createServer, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { readMultipart } from '../../../src/http/body/read-multipart.ts'
import { BOUNDARY, bodyOf, field, file, MULTIPART, multipartRequest, UPLOAD } from './multipart-bodies.ts'
import { cut } from './requests.ts'

const MIB = 1_048_576
const BEGINNING = bodyOf([field('tableName', 't'), field('columnName', 'c'), file('')]).subarray(0, -(BOUNDARY.length + 8))

/** Sends a body of 64 MiB as fast as the server takes it. Returns how much was sent when the server stopped for the first time. */
function sendUpload(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = sendRequest({ port, method: 'POST', headers: MULTIPART }, (response) => {
      response.setEncoding('utf8').on('data', resolve)
    }).on('error', reject)
    request.write(BEGINNING)
    const piece = Buffer.alloc(65_536, 'abc\r\n--')
    let sent = 0
    const send = (): void => {
      while (sent < 1024) {
        sent++
        if (!request.write(piece)) return void request.once('drain', send)
      }
      request.end(`\r\n--${BOUNDARY}--\r\n`)
    }
    send()
  })
}

describe('the memory of an upload', () => {
  it('stays within 16 MiB for 64 MiB and a slow reader, the buffers of the client included', async () => {
    let highest = 0
    const server = createServer((request, response) => {
      void (async () => {
        const upload = await readMultipart(
          { ...multipartRequest(request), header: (name) => request.headers[name]?.toString() },
          UPLOAD,
        )
        let length = 0
        const before = liveBytes()
        for await (const piece of upload.content) {
          length += piece.length
          if (length % (8 * MIB) < piece.length) {
            await pause(20) // A slow reader: the sockets fill up.
            highest = Math.max(highest, liveBytes() - before)
          }
        }
        response.end(String(length))
      })()
    }).listen(0)
    const address = server.address() as AddressInfo // A server on a port has one.
    expect(await sendUpload(address.port)).toBe(String(64 * MIB))
    server.close()
    expect(highest).toBeLessThan(16 * MIB)
  })

  it('of a held file in pieces of one byte is that of the bytes', async () => {
    const body = bodyOf([file(new Uint8Array(300_000))])
    let highest = 0
    const pieces = (async function* () {
      let sent = 0
      const before = liveBytes()
      for await (const piece of cut(body, 1)) {
        if (++sent % 100_000 === 0) {
          await new Promise(setImmediate)
          highest = Math.max(highest, liveBytes() - before)
        }
        yield piece
      }
    })()
    const upload = await readMultipart(multipartRequest(pieces), UPLOAD)
    expect(highest).toBeGreaterThan(0)
    expect(highest).toBeLessThan(4 * MIB)
    upload.close()
  })
})

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** Bytes that are in use, after the garbage is gone. */
function liveBytes(): number {
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
