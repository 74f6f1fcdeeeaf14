/** The content of a scanned file and its abort: errors, wrong lengths, and an end at every point of a scan. */
import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { clamdScanner } from '../../../src/adapters/scanner/index.ts'
import { CANARY, codeOf, MEBIBYTE, scannerWith } from '../../support/scanner/clamd-trial.ts'
import { startForEachTest } from '../../support/scanner/each-test.ts'
import { behaveWell, type FakeClamd, parsePieces } from '../../support/scanner/fake-clamd.ts'
import { fileOf, neverAborted, watchedContent } from '../../support/scanner/scanned-file.ts'

let clamd: FakeClamd

startForEachTest((started) => {
  clamd = started
})

describe('the content', () => {
  it.each([0, 1, 5])('its error after %i chunks is rethrown unchanged, and the daemon never has a whole file', async (chunks) => {
    let isWhole = false
    const scanner = await scannerWith(clamd, async (session) => {
      await session.closed()
      isWhole = parsePieces(session.received()).isWhole
    })
    const failure = new Error('the blob is gone')
    const content = watchedContent((index) => {
      if (index === chunks) throw failure
      return Buffer.alloc(100_000, 7)
    })
    await expect(scanner.scan({ content, size: 1_000_000, signal: neverAborted() })).rejects.toBe(failure)
    await clamd.idle()
    expect(isWhole).toBe(false)
  })

  it.each([
    ['shorter', 'ab'],
    ['longer', 'abcd'],
  ])('that is %s than the file is never clean', async (_, text) => {
    const scanner = await scannerWith(clamd, behaveWell)
    expect(await codeOf(scanner.scan({ ...fileOf(text), size: 3 }))).toBe('internal')
  })

  it('that is longer than the limit is not sent', async () => {
    const scanner = await scannerWith(clamd, behaveWell, { maxBytes: 10 })
    const { accepted } = clamd
    expect(await scanner.scan(fileOf('0123456789'))).toBe('clean')
    expect(clamd.accepted).toBe(accepted + 1)
    expect(await scanner.scan(fileOf('0123456789a'))).toBe('unscannable')
    expect(clamd.accepted).toBe(accepted + 1)
  })

  it('that is longer than what ClamAV can scan is not sent', async () => {
    const content = watchedContent(() => undefined)
    expect(await clamdScanner(clamd.address).scan({ content, size: 2_147_483_646, signal: neverAborted() })).toBe('unscannable')
    expect(clamd.accepted).toBe(0)
  })
})

describe('an abort', () => {
  it('before the scan needs no connection', async () => {
    const controller = new AbortController()
    controller.abort()
    expect(await codeOf(clamdScanner(clamd.address).scan(fileOf('x', 1, controller.signal)))).toBe('cancelled')
    expect(clamd.accepted).toBe(0)
  })

  it('while connecting ends the scan', async () => {
    const controller = new AbortController()
    const scan = clamdScanner(clamd.address).scan(fileOf('x', 1, controller.signal))
    controller.abort()
    expect(await codeOf(scan)).toBe('cancelled')
  })

  it('while the content is awaited ends the scan, and what comes of the content has no effect', async () => {
    const controller = new AbortController()
    let fail: (error: Error) => void = () => {}
    const scanner = await scannerWith(clamd, ({ atLeast }) => atLeast(1).then(() => controller.abort()))
    const content = watchedContent((index) =>
      index === 0 ? Buffer.of(1) : new Promise<undefined>((_, reject) => (fail = reject)),
    )
    expect(await codeOf(scanner.scan({ content, size: 9, signal: controller.signal }))).toBe('cancelled')
    fail(new Error('too late'))
  })

  it('while the daemon does not read ends the scan', async () => {
    const controller = new AbortController()
    const destroys: (() => void)[] = []
    const scanner = await scannerWith(clamd, async ({ socket, atLeast }) => {
      destroys.push(() => socket.destroy())
      await atLeast(100_000)
      socket.pause()
      setTimeout(() => controller.abort(), 30)
    })
    const content = watchedContent(() => Buffer.alloc(MEBIBYTE, CANARY))
    expect(await codeOf(scanner.scan({ content, size: 2_000_000_000, signal: controller.signal }))).toBe('cancelled')
    expect(content.isClosed).toBe(true)
    for (const destroy of destroys) destroy()
  })

  it('while the verdict is awaited ends the scan', async () => {
    const controller = new AbortController()
    const scanner = await scannerWith(clamd, ({ whole }) => whole().then(() => controller.abort()))
    expect(await codeOf(scanner.scan(fileOf('x', 1, controller.signal)))).toBe('cancelled')
  })

  it('while the settings are checked ends the scan', async () => {
    const controller = new AbortController()
    clamd.behave(() => controller.abort())
    expect(await codeOf(clamdScanner(clamd.address).scan(fileOf('x', 1, controller.signal)))).toBe('cancelled')
    clamd.behave(behaveWell)
  })

  it('is no longer listened to after a scan', async () => {
    const controller = new AbortController()
    const scanner = await scannerWith(clamd, behaveWell)
    expect(await scanner.scan(fileOf('x', 1, controller.signal))).toBe('clean')
    clamd.behave(({ socket }) => void socket.destroy())
    expect(await codeOf(scanner.scan(fileOf('x', 1, controller.signal)))).toBe('unavailable')
    const content = watchedContent(() => {
      throw new Error('gone')
    })
    clamd.behave(behaveWell)
    await expect(scanner.scan({ content, size: 1, signal: controller.signal })).rejects.toThrow('gone')
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })
})
