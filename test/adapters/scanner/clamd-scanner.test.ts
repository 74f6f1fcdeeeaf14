/** The scanner against a daemon of the tests: what it sends, what replies mean, and which settings it accepts. */
import { describe, expect, it } from 'vitest'
import { clamdScanner } from '../../../src/adapters/scanner/index.ts'
import type { ScannedFile } from '../../../src/core/ports/blobs.ts'
import { CANARY, codeOf, scannerWith } from '../../support/scanner/clamd-trial.ts'
import { startForEachTest } from '../../support/scanner/each-test.ts'
import {
  behaveWell,
  type ClamdBehavior,
  type FakeClamd,
  freshSocketPath,
  parsePieces,
  startFakeClamd,
} from '../../support/scanner/fake-clamd.ts'
import { fileOf, neverAborted, watchedContent } from '../../support/scanner/scanned-file.ts'

let clamd: FakeClamd

startForEachTest((started) => {
  clamd = started
})

describe('what is sent', () => {
  const sentFor = async (file: ScannedFile) => {
    let received: Buffer = Buffer.alloc(0)
    const scanner = await scannerWith(clamd, async (session) => {
      await session.whole()
      received = session.received()
      await behaveWell(session)
    })
    expect(await scanner.scan(file)).toBe('clean')
    return received
  }

  it('is the command, each piece behind its length, and a length of zero', async () => {
    expect(await sentFor(fileOf('abcde', 3))).toEqual(Buffer.from('zINSTREAM\0\0\0\0\x03abc\0\0\0\x02de\0\0\0\0'))
  })

  it('has no pieces for an empty file', async () => {
    expect(await sentFor(fileOf(''))).toEqual(Buffer.from('zINSTREAM\0\0\0\0\0'))
  })

  it('leaves out empty chunks, which would end the file', async () => {
    const chunks = ['', 'a', '', '', 'b', '']
    const content = watchedContent((index) => (index < chunks.length ? Buffer.from(chunks[index] ?? '') : undefined))
    const received = await sentFor({ content, size: 2, signal: neverAborted() })
    expect(received).toEqual(Buffer.from('zINSTREAM\0\0\0\0\x01a\0\0\0\x01b\0\0\0\0'))
  })

  it('cuts chunks into pieces of 64 KiB', async () => {
    const bytes = Buffer.from(Array.from({ length: 150_000 }, (_, index) => index % 251))
    const { pieces, content } = parsePieces(await sentFor(fileOf(bytes)))
    expect(pieces).toEqual([65_536, 65_536, 150_000 - 2 * 65_536])
    expect(content.equals(bytes)).toBe(true)
  })

  it('is unaffected by a content that overwrites each chunk with the next', async () => {
    const buffer = Buffer.alloc(300_000)
    const content = watchedContent((index) => (index < 20 ? buffer.fill(index + 1) : undefined))
    const received = parsePieces(await sentFor({ content, size: 20 * buffer.length, signal: neverAborted() }))
    const expected = Buffer.concat(Array.from({ length: 20 }, (_, index) => Buffer.alloc(buffer.length, index + 1)))
    expect(received.content.equals(expected)).toBe(true)
  })

  it('also goes to a socket in the file system', async () => {
    const { socket, remove } = freshSocketPath()
    const local = await startFakeClamd(socket)
    try {
      expect(await clamdScanner({ socket }).scan(fileOf('BAD'))).toBe('infected')
      await local.idle()
    } finally {
      await local.stop()
      remove()
    }
  })
})

describe('replies', () => {
  const replying =
    (reply: string): ClamdBehavior =>
    async (session) => {
      await session.whole()
      session.socket.end(Buffer.from(reply, 'latin1'))
    }

  it.each([
    ['stream: OK\0', 'clean'],
    ['stream: Win.Test.EICAR_HDB-1 FOUND\0', 'infected'],
    ['stream: Eicar-Test-Signature(44d88612fea8a8f36de82e1278abb02f:68) FOUND\0', 'infected'],
    ['stream: Heuristics.Broken.Executable FOUND\0', 'infected'],
    ['stream: Heuristics.Limits.Exceeded FOUND\0', 'unscannable'],
    ['stream: Heuristics.Limits.Exceeded.MaxFileSize FOUND\0', 'unscannable'],
    ['stream: Heuristics.Limits.Exceeded.MaxScanTime.UNOFFICIAL FOUND\0', 'unscannable'],
    ['stream: Heuristics.Encrypted.Zip FOUND\0', 'unscannable'],
    ['stream: Heuristics.Encrypted.PDF FOUND\0', 'unscannable'],
    ['INSTREAM size limit exceeded. ERROR\0', 'unscannable'],
  ])('%j means %s', async (reply, verdict) => {
    expect(await (await scannerWith(clamd, replying(reply))).scan(fileOf('x'))).toBe(verdict)
  })

  it.each([
    'stream: Can not allocate memory ERROR\0',
    'UNKNOWN COMMAND\0',
    'PONG\0',
    'stream: ok\0',
    'stream: OK \0',
    ' stream: OK\0',
    'stream: OK\n',
    'stream: OK',
    'stream:  FOUND\0',
    'stream: FOUND\0',
    `stream: ${CANARY} ERROR\0`,
    `${CANARY}\0`,
    'stream: OK\0stream: OK\0',
    'stream: OK\0\0',
    'stream: Test.Found FOUND\0stream: OK\0',
    'stream: OK\nstream: Test.Found FOUND\0',
    '\0',
    '',
    'HTTP/1.1 400 Bad Request\r\n\r\n',
    'x'.repeat(5000),
    `stream: ${'x'.repeat(5000)} FOUND\0`,
    '\xff\xfe\x00\x80',
  ])('%j is unavailable', async (reply) => {
    expect(await codeOf((await scannerWith(clamd, replying(reply))).scan(fileOf('x')))).toBe('unavailable')
  })

  it.each(['stream: OK\0', 'stream: Test.Found FOUND\0'])('%j is understood in parts', async (reply) => {
    const scanner = await scannerWith(clamd, async ({ socket, whole }) => {
      await whole()
      socket.setNoDelay(true)
      for (const byte of reply) await new Promise<void>((resolve) => socket.write(byte, () => setImmediate(resolve)))
      socket.end()
    })
    expect(await scanner.scan(fileOf('x'))).toBe(reply.includes('OK') ? 'clean' : 'infected')
  })

  it('a second reply behind "clean" is unavailable, also if it comes later', async () => {
    const scanner = await scannerWith(clamd, async ({ socket, whole }) => {
      await whole()
      await new Promise<void>((resolve) => socket.write('stream: OK\0', () => setImmediate(resolve)))
      socket.end('stream: Test.Found FOUND\0')
    })
    expect(await codeOf(scanner.scan(fileOf('x')))).toBe('unavailable')
  })
})

describe('the settings of the daemon', () => {
  const callingClean =
    (words: readonly string[]): ClamdBehavior =>
    async (session) => {
      const content = await session.whole()
      // The flag in the first header of a zip file says whether it is encrypted.
      const kind = content[0] !== 0x50 ? 'text' : content[6] === 1 ? 'encrypted' : 'nested'
      session.reply(kind === 'text' || words.includes(kind) ? 'stream: OK' : 'stream: Heuristics.Limits.Exceeded FOUND')
    }

  it.each([
    ['nested', 'AlertExceedsMax'],
    ['encrypted', 'AlertEncrypted'],
  ])('are refused if they call %s archives clean', async (kind, setting) => {
    clamd.behave(callingClean([kind]))
    const scanner = clamdScanner(clamd.address)
    await expect(scanner.scan(fileOf('x'))).rejects.toThrow(setting)
    expect(await codeOf(scanner.scan(fileOf('x')))).toBe('unavailable')
    clamd.behave(callingClean([]))
    expect(await scanner.scan(fileOf('x'))).toBe('clean')
  })

  it('are checked once, and again after a failed scan', async () => {
    const scanner = await scannerWith(clamd, behaveWell)
    const first = clamd.accepted
    await scanner.scan(fileOf('x'))
    await scanner.scan(fileOf('BAD'))
    expect(clamd.accepted).toBe(first + 2)
    clamd.behave(({ socket }) => void socket.destroy())
    expect(await codeOf(scanner.scan(fileOf('x')))).toBe('unavailable')
    clamd.behave(behaveWell)
    const { accepted } = clamd
    await scanner.scan(fileOf('x'))
    expect(clamd.accepted).toBe(accepted + 3)
  })
})

it('many scans at once do not mix up their verdicts', async () => {
  const scanner = await scannerWith(clamd, behaveWell)
  const texts = Array.from({ length: 40 }, (_, index) => (index % 3 === 0 ? `BAD ${index}` : `good ${index}`))
  const verdicts = await Promise.all(texts.map((text) => scanner.scan(fileOf(text, 2))))
  expect(verdicts).toEqual(texts.map((text) => (text.startsWith('BAD') ? 'infected' : 'clean')))
})
