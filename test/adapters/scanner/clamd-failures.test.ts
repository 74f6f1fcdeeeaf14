/** A daemon that replies too early, fails, stalls or cuts connections: nothing but a whole scan is clean, and nothing stays open. */
import { describe, expect, it } from 'vitest'
import { clamdScanner } from '../../../src/adapters/scanner/index.ts'
import type { ScannedFile } from '../../../src/core/ports/blobs.ts'
import { CANARY, codeOf, MEBIBYTE, scannerWith } from '../../support/scanner/clamd-trial.ts'
import { startForEachTest } from '../../support/scanner/each-test.ts'
import {
  behaveWell,
  type ClamdBehavior,
  type ClamdSession,
  type FakeClamd,
  freshSocketPath,
  once,
  startFakeClamd,
} from '../../support/scanner/fake-clamd.ts'
import { fileOf, neverAborted, watchedContent } from '../../support/scanner/scanned-file.ts'

/** Long enough for a busy machine to reply, where a test waits for it to pass. */
const LIMIT_MS = 1000

const inFile = (session: ClamdSession) => session.atLeast(100_000)
const atEnd = (session: ClamdSession) => session.whole()

let clamd: FakeClamd

startForEachTest((started) => {
  clamd = started
})

describe('replies before the end of the file', () => {
  const endless = () => watchedContent(() => Buffer.alloc(100_000, CANARY))
  const replyingAfter =
    (bytes: number, reply: string): ClamdBehavior =>
    async (session) => {
      await session.atLeast(bytes)
      session.reply(reply)
    }
  const scanEndless = (content: AsyncIterable<Uint8Array>): ScannedFile => ({
    content,
    size: 2_000_000_000,
    signal: neverAborted(),
  })

  it.each([
    ['stream: Test.Found FOUND', 'infected'],
    ['INSTREAM size limit exceeded. ERROR', 'unscannable'],
    ['stream: Heuristics.Limits.Exceeded.MaxScanSize FOUND', 'unscannable'],
  ])('%j counts, and the content is closed', async (reply, verdict) => {
    const content = endless()
    expect(await (await scannerWith(clamd, replyingAfter(300_000, reply))).scan(scanEndless(content))).toBe(verdict)
    expect(content.isClosed).toBe(true)
    expect(content.taken).toBeLessThan(200)
  })

  it('"clean" does not count', async () => {
    const content = endless()
    expect(await codeOf((await scannerWith(clamd, replyingAfter(300_000, 'stream: OK'))).scan(scanEndless(content)))).toBe(
      'unavailable',
    )
    expect(content.isClosed).toBe(true)
  })

  it('"clean" does not count before the first byte', async () => {
    const scanner = await scannerWith(clamd, (session) => session.reply('stream: OK'))
    const content = watchedContent(async () => {
      await clamd.idle()
      return undefined
    })
    expect(await codeOf(scanner.scan({ content, size: 0, signal: neverAborted() }))).toBe('unavailable')
  })

  it('a reply while the content is awaited counts at once', async () => {
    const scanner = await scannerWith(clamd, replyingAfter(3, 'stream: Test.Found FOUND'))
    const content = watchedContent((index) => (index === 0 ? Buffer.from('abc') : new Promise<undefined>(() => {})))
    expect(await scanner.scan({ content, size: 9, signal: neverAborted() })).toBe('infected')
  })
})

describe('a daemon that fails', () => {
  it('is unavailable if nothing listens', async () => {
    const { address } = await startFakeClamd().then(async (gone) => {
      await gone.stop()
      return gone
    })
    expect(await codeOf(clamdScanner(address).scan(fileOf(CANARY)))).toBe('unavailable')
    const { socket, remove } = freshSocketPath()
    expect(await codeOf(clamdScanner({ socket }).scan(fileOf(CANARY)))).toBe('unavailable')
    remove()
  })

  it.each<[string, ClamdBehavior]>([
    ['closes at once', ({ socket }) => void socket.end()],
    ['resets at once', ({ socket }) => void socket.resetAndDestroy()],
    ['closes in the file', once(inFile, ({ socket }) => socket.destroy())],
    ['resets in the file', once(inFile, ({ socket }) => socket.resetAndDestroy())],
    ['closes without a reply', once(atEnd, ({ socket }) => socket.end())],
    ['closes in the reply', once(atEnd, ({ socket }) => socket.end('stream: O'))],
    ['resets behind the reply', once(atEnd, ({ socket }) => socket.write('stream: OK\0', () => socket.resetAndDestroy()))],
  ])('is unavailable if it %s', async (_, behavior) => {
    const scanner = await scannerWith(clamd, behavior)
    expect(await codeOf(scanner.scan(fileOf(Buffer.alloc(3 * MEBIBYTE, CANARY))))).toBe('unavailable')
  })

  it.each<[string, ClamdBehavior]>([
    ['does not read', ({ socket }) => void socket.pause()],
    ['stops reading', once(inFile, ({ socket }) => socket.pause())],
  ])('is unavailable after the time limit if it %s, and little of the content is taken', async (_, behavior) => {
    const sessions: ClamdSession[] = []
    const scanner = await scannerWith(clamd, (session) => behavior(sessions[sessions.push(session) - 1] ?? session), {
      timeoutMs: LIMIT_MS,
    })
    const content = watchedContent(() => Buffer.alloc(MEBIBYTE, CANARY))
    expect(await codeOf(scanner.scan({ content, size: 2_000_000_000, signal: neverAborted() }))).toBe('unavailable')
    expect(content.isClosed).toBe(true)
    // What the system buffers for a connection is a few MiB.
    expect(content.taken).toBeLessThan(64)
    for (const { socket } of sessions) socket.destroy()
  })

  it.each<[string, ClamdBehavior]>([
    ['does not reply', () => {}],
    ['stops in the reply', once(atEnd, ({ socket }) => socket.write('stream: O'))],
    ['does not close behind "clean"', once(atEnd, ({ socket }) => socket.write('stream: OK\0'))],
  ])('is unavailable after the time limit if it %s', async (_, behavior) => {
    const scanner = await scannerWith(clamd, behavior, { timeoutMs: LIMIT_MS })
    expect(await codeOf(scanner.scan(fileOf(CANARY)))).toBe('unavailable')
  })

  it('may be slow, as long as it takes bytes', async () => {
    const scanner = await scannerWith(
      clamd,
      async (session) => {
        for (let bytes = 0; bytes < 8 * MEBIBYTE; bytes += MEBIBYTE / 2) {
          await session.atLeast(bytes)
          session.socket.pause()
          await new Promise((resolve) => setTimeout(resolve, 20))
          session.socket.resume()
        }
        await behaveWell(session)
      },
      { timeoutMs: 20_000 },
    )
    expect(await scanner.scan(fileOf(Buffer.alloc(8 * MEBIBYTE)))).toBe('clean')
  })
})

it('no scan leaves a socket or a timer behind', async () => {
  const scanner = await scannerWith(clamd, behaveWell)
  await clamd.idle()
  const before = process.getActiveResourcesInfo()
  const behaviors: ClamdBehavior[] = [
    behaveWell,
    ({ socket }) => void socket.end(),
    ({ socket }) => void socket.resetAndDestroy(),
    once(
      ({ atLeast }) => atLeast(1),
      ({ reply }) => reply('stream: Test.Found FOUND'),
    ),
  ]
  for (const behavior of behaviors) {
    clamd.behave(behavior)
    const scans = Array.from({ length: 25 }, () => scanner.scan(fileOf(Buffer.alloc(200_000, 1))).catch(() => 'failed'))
    expect(await Promise.all(scans)).toHaveLength(25)
    await clamd.idle()
  }
  const left = process.getActiveResourcesInfo()
  for (const one of before) {
    const index = left.indexOf(one)
    if (index !== -1) left.splice(index, 1)
  }
  expect(left).toEqual([])
})
