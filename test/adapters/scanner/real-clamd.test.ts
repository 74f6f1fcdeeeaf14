/** The scanner with the real clamd: what it finds, what it cannot read, and settings that it must have. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clamdScanner, type FileScanner, type ScanVerdict } from '../../../src/adapters/scanner/index.ts'
import { isVaultError } from '../../../src/index.ts'
import { zipFile } from '../../support/archives/zip-file.ts'
import { randomFor } from '../../support/random/seeded-random.ts'
import { EICAR, isClamdInstalled, NEEDED_SETTINGS, type RealClamd, startRealClamd } from '../../support/scanner/real-clamd.ts'
import { fileOf } from '../../support/scanner/scanned-file.ts'

/** Length of a piece of the protocol, in bytes. */
const PIECE = 64 * 1024
const MEBIBYTE = 1024 * 1024

const isInstalled = isClamdInstalled()
if (!isInstalled)
  console.log('clamd is not installed, so the tests with the real one are skipped. Debian: apt-get install clamav-daemon')

describe.skipIf(!isInstalled)('the real clamd (skipped where it is not installed)', () => {
  let clamd: RealClamd
  let scanner: FileScanner

  beforeAll(async () => {
    clamd = await startRealClamd([...NEEDED_SETTINGS, 'StreamMaxLength 4M', 'MaxFileSize 2M'])
    scanner = clamdScanner({ socket: clamd.socket })
  })
  afterAll(() => clamd?.stop())

  /** As core does, scans again after `unavailable`: the reply to a file that is too long can be lost with the connection. */
  async function scanAgain(content: Uint8Array): Promise<ScanVerdict> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await scanner.scan(fileOf(content))
      } catch (error) {
        if (!isVaultError(error, 'unavailable') || attempt === 10) throw error
      }
    }
  }

  it.each([1, 3, 67, 68, 69, PIECE])('finds the test text in chunks of %i bytes', async (chunkBytes) => {
    expect(await scanner.scan(fileOf(EICAR, chunkBytes))).toBe('infected')
  })

  it.each([1, 30, 67, 68])('finds it %i bytes before the end of a piece', async (before) => {
    const content = Buffer.alloc(2 * PIECE + 100, 'x')
    content.write(EICAR, PIECE - before)
    expect(await scanner.scan(fileOf(content))).toBe('infected')
    expect(await scanner.scan(fileOf(content, PIECE))).toBe('infected')
  })

  it('finds it in an archive', async () => {
    expect(await scanner.scan(fileOf(zipFile([{ name: 'a.txt', content: EICAR }])))).toBe('infected')
  })

  it.each([
    ['an empty file', Buffer.alloc(0)],
    ['one byte', Buffer.from('x')],
    ['half of the test text', Buffer.from(EICAR.slice(0, 40))],
    ['an archive', zipFile([{ name: 'a.txt', content: 'hello' }])],
    ['random bytes', randomFor('clamd').bytes(MEBIBYTE)],
  ])('calls %s clean', async (_, content) => {
    expect(await scanner.scan(fileOf(content))).toBe('clean')
  })

  it('cannot read an encrypted archive', async () => {
    const content = zipFile([{ name: 'a.txt', content: randomFor('encrypted').bytes(100), stored: true, encrypted: true }])
    expect(await scanner.scan(fileOf(content))).toBe('unscannable')
  })

  it('cannot read a file beyond its own limit, which it is sent whole', async () => {
    expect(await scanner.scan(fileOf(Buffer.alloc(3 * MEBIBYTE, 'x')))).toBe('unscannable')
  })

  it('cannot read archives in archives beyond its limit', async () => {
    let content = zipFile([{ name: 'a.txt', content: EICAR }])
    for (let level = 0; level < 30; level++) content = zipFile([{ name: 'a.zip', content, stored: true }])
    expect(await scanner.scan(fileOf(content))).toBe('unscannable')
  })

  it('cannot read a stream that is too long', async () => {
    expect(await scanAgain(Buffer.alloc(20 * MEBIBYTE, 'x'))).toBe('unscannable')
    expect(await scanAgain(Buffer.alloc(4 * MEBIBYTE + 1, 'x'))).toBe('unscannable')
  })

  it('replies to many scans at once', async () => {
    const texts = Array.from({ length: 30 }, (_, index) => (index % 2 === 0 ? EICAR : `hello ${index}`))
    const verdicts = await Promise.all(texts.map((text) => scanner.scan(fileOf(text, 7))))
    expect(verdicts).toEqual(texts.map((text) => (text === EICAR ? 'infected' : 'clean')))
  })

  it('scans on after scans that were cancelled', async () => {
    for (let turn = 0; turn < 20; turn++) {
      const controller = new AbortController()
      const scan = scanner.scan(fileOf(Buffer.alloc(MEBIBYTE, 'x'), 10_000, controller.signal))
      setImmediate(() => controller.abort())
      await expect(scan).rejects.toThrow('cancelled')
    }
    expect(await scanner.scan(fileOf(EICAR))).toBe('infected')
  })
})

describe.skipIf(!isInstalled)('settings of the real clamd (skipped where it is not installed)', () => {
  it.each([
    ['the defaults', [], 'AlertExceedsMax'],
    ['AlertEncrypted alone', ['AlertEncrypted yes'], 'AlertExceedsMax'],
    ['AlertExceedsMax alone', ['AlertExceedsMax yes'], 'AlertEncrypted'],
    ['archives that are not opened', [...NEEDED_SETTINGS, 'ScanArchive no'], 'ScanArchive'],
    ['the deepest nesting that can be set', [...NEEDED_SETTINGS, 'MaxRecursion 100'], undefined],
  ])('%s', async (_, settings, missing) => {
    const clamd = await startRealClamd(settings)
    try {
      const scan = clamdScanner({ socket: clamd.socket }).scan(fileOf('hello'))
      if (missing === undefined) expect(await scan).toBe('clean')
      else await expect(scan).rejects.toThrow(missing)
    } finally {
      await clamd.stop()
    }
  })
})
