/** Scans of files: what each verdict leads to, who may open a file meanwhile, retries, and results that come too late. */
import { expect, it } from 'vitest'
import { VaultError } from '../../../src/core/errors.ts'
import type { FileScanner, ScanVerdict } from '../../../src/core/ports/blobs.ts'
import { FILES } from '../../../src/core/schema/system-tables.ts'
import { bytesOf, countedBlobs, type FileVault, openFileVault, scriptedScanner } from '../../support/files/open-file-vault.ts'
import { onEachStorage } from '../../support/storages/engines.ts'

const CONTENT = Buffer.alloc(150_000, 'content ')

/** Longest wait for work in the background. It ends as soon as the work does. */
const MAX_WAIT_MS = 20_000

onEachStorage('scans of files', (engine) => {
  const upload = async ({ session, person }: FileVault): Promise<string> => {
    const id = await person()
    await session.uploadFile({ table: 'people', id, column: 'paper', file: CONTENT })
    return id
  }
  const status = async ({ session }: FileVault, id: string) => (await session.fileStatus('people', id, 'paper')).avScanStatus
  /** Asserts that no way leads to the content. */
  const expectClosed = async ({ session }: FileVault, id: string): Promise<void> => {
    const refused = { code: 'failed_precondition', httpStatus: 422 }
    await expect(session.openFile('people', id, 'paper')).rejects.toMatchObject(refused)
    await expect(session.downloadTicket('people', id, 'paper')).rejects.toMatchObject(refused)
    const { downloadTickets } = await session.getOne('people', id, { downloadTickets: true, redaction: 'PLAIN_TEXT' })
    expect(downloadTickets).toEqual({})
  }

  it('do not run without a scanner: files are SCAN_UNSCANNABLE and open', async () => {
    const vault = await openFileVault(engine.fresh().open())
    const id = await upload(vault)
    expect(await vault.vault.scanFiles()).toEqual({ scanned: 0 })
    expect(await vault.session.fileStatus('people', id, 'paper')).toEqual({
      fileStatus: 'UPLOADED',
      avScanStatus: 'SCAN_UNSCANNABLE',
    })
    expect((await bytesOf((await vault.session.openFile('people', id, 'paper')).stream)).equals(CONTENT)).toBe(true)
    expect(await vault.session.fileStatus('people', id, 'photo')).toEqual({
      fileStatus: 'NOT_UPLOADED',
      avScanStatus: 'SCAN_FILE_NOT_FOUND',
    })
  })

  it('read the whole content, and open a clean file only after the verdict', async () => {
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const seen: Buffer[] = []
    const scanner = scriptedScanner(async (content, { size }): Promise<ScanVerdict> => {
      expect(size).toBe(content.length)
      await held
      seen.push(content)
      return 'clean'
    })
    const vault = await openFileVault(engine.fresh().open(), { scanner })
    const id = await upload(vault)
    expect(await status(vault, id)).toBe('SCAN_PENDING')
    await expectClosed(vault, id)
    release()
    await untilStatus(() => status(vault, id), 'SCAN_CLEAN')
    expect(seen.map((content) => content.equals(CONTENT))).toEqual([true])
    const { ticket } = await vault.session.downloadTicket('people', id, 'paper')
    expect((await bytesOf((await vault.vault.downloadWithTicket(ticket)).stream)).equals(CONTENT)).toBe(true)
    const { events } = await vault.session.listEvents({ filterOps: { accountID: 'v1', actionType: 'SCAN_FILE' } })
    expect(events).toHaveLength(1)
    expect(events[0]?.context.actor).toBe('strongroom')
    expect(events[0]?.request.resources).toContain(`FILE/${id}`)
    expect(events[0]?.response).toMatchObject({ code: 200, data: { content: '{"state":"clean"}' } })
  })

  it.each([
    ['infected', 'quarantine', 'SCAN_INFECTED', 1],
    ['infected', 'delete', 'SCAN_DELETED', 0],
    ['unscannable', 'quarantine', 'SCAN_UNSCANNABLE', 1],
  ] as const)('that find %s, with %s, keep the file closed as %s', async (verdict, onInfected, expected, blobs) => {
    const place = engine.fresh()
    const storage = place.open()
    const vault = await openFileVault(storage, { scanner: scriptedScanner(() => verdict), onInfected })
    const id = await upload(vault)
    await untilStatus(() => status(vault, id), expected)
    await vault.vault.scanFiles()
    await expectClosed(vault, id)
    await untilStatus(async () => vault.blobs.keys().length, blobs)
    await vault.session.uploadFile({ table: 'people', id, column: 'paper', file: CONTENT.subarray(1) })
    await untilStatus(() => status(vault, id), expected)
  })

  it('keep an infected file closed without a scanner, too, but open an unscannable one', async () => {
    for (const [verdict, isOpen] of [
      ['infected', false],
      ['unscannable', true],
    ] as const) {
      const storage = engine.fresh().open()
      const blobs = countedBlobs()
      const scanning = await openFileVault(storage, { blobs, scanner: scriptedScanner(() => verdict) })
      const id = await upload(scanning)
      await untilStatus(async () => (await status(scanning, id)) !== 'SCAN_PENDING', true)
      const without = await openFileVault(storage, { blobs })
      if (isOpen) expect((await without.session.openFile('people', id, 'paper')).size).toBe(CONTENT.length)
      else await expectClosed(without, id)
    }
  })

  it('that fail are repeated after a delay that grows, and the file is closed meanwhile', async () => {
    const verdicts: (ScanVerdict | Error)[] = [new VaultError('unavailable', 'No scanner.'), new Error('foreign'), 'clean']
    let scans = 0
    const scanner = scriptedScanner(() => {
      const verdict = verdicts[scans++]
      if (verdict instanceof Error) throw verdict
      return verdict ?? 'unscannable'
    })
    const vault = await openFileVault(engine.fresh().open(), { scanner })
    const id = await upload(vault)
    await untilStatus(() => status(vault, id), 'SCAN_ERROR')
    for (const delay of [10_000, 20_000]) {
      await expectClosed(vault, id)
      vault.clock.ms += delay - 1
      await vault.vault.scanFiles()
      expect(await status(vault, id)).toBe('SCAN_ERROR')
      vault.clock.ms += 1
      await vault.vault.scanFiles()
    }
    expect([await status(vault, id), scans]).toEqual(['SCAN_CLEAN', 3])
  })

  it('of content that is missing or changed say so', async () => {
    for (const [change, expected] of [
      [(stored: Map<string, Uint8Array>) => stored.clear(), 'SCAN_FILE_NOT_FOUND'],
      [
        (stored: Map<string, Uint8Array>) => {
          for (const bytes of stored.values()) bytes[70_000] = (bytes[70_000] ?? 0) ^ 1
        },
        'SCAN_INVALID',
      ],
    ] as const) {
      const storage = engine.fresh().open()
      const blobs = countedBlobs()
      const before = await openFileVault(storage, { blobs })
      const id = await upload(before)
      change(blobs.stored)
      const vault = await openFileVault(storage, { blobs, scanner: scriptedScanner(() => 'clean') })
      await untilStatus(() => status(vault, id), expected)
      await expectClosed(vault, id)
    }
  })

  it('find a file clean only if the scanner was given all of it, whatever it makes of errors', async () => {
    const careless = async (content: AsyncIterable<Uint8Array>): Promise<ScanVerdict> => {
      try {
        for await (const chunk of content) chunk.slice()
      } catch {
        return 'clean'
      }
      return 'clean'
    }
    const hasty = async (content: AsyncIterable<Uint8Array>): Promise<ScanVerdict> => {
      for await (const chunk of content) return chunk.length > 0 ? 'clean' : 'infected'
      return 'infected'
    }
    for (const [scan, expected] of [
      [careless, 'SCAN_INVALID'],
      [hasty, 'SCAN_UNSCANNABLE'],
    ] as const) {
      const blobs = countedBlobs()
      const storage = engine.fresh().open()
      const before = await openFileVault(storage, { blobs })
      const id = await upload(before)
      const whole = new Map(blobs.stored)
      for (const [key, bytes] of whole) if (scan === careless) blobs.stored.set(key, bytes.slice(0, 10))
      const vault = await openFileVault(storage, { blobs, scanner: { scan: ({ content }) => scan(content) } })
      await untilStatus(() => status(vault, id), expected)
      for (const [key, bytes] of whole) blobs.stored.set(key, bytes)
      await expectClosed(vault, id)
    }
  })

  it('of a row that was put back from the time of the upload do not find it clean', async () => {
    const storage = engine.fresh().open()
    const held = countedBlobs()
    let bodyBefore: unknown
    const blobs = {
      ...held,
      async write(key: string, content: AsyncIterable<Uint8Array>) {
        const [row] = await storage.find(FILES.name, { kind: 'all' }, { order: 'asc', limit: 1 })
        bodyBefore = row?.body
        await held.write(key, content)
      },
    }
    const before = await openFileVault(storage, { blobs })
    const id = await upload(before)
    const [row] = await storage.find(FILES.name, { kind: 'all' }, { order: 'asc', limit: 1 })
    if (row === undefined || !(bodyBefore instanceof Uint8Array)) throw new Error('the upload has no row')
    await storage.update(FILES.name, [{ id: row.id, version: row.version, set: { body: bodyBefore } }])
    const vault = await openFileVault(storage, { blobs, scanner: scriptedScanner(() => 'clean') })
    await untilStatus(() => status(vault, id), 'SCAN_INVALID')
    await expectClosed(vault, id)
  })

  it('change nothing when they end after the file was replaced or deleted', async () => {
    for (const change of ['replace', 'delete', 'delete record'] as const) {
      let entered = (): void => {}
      const begun = new Promise<void>((resolve) => {
        entered = resolve
      })
      let release = (): void => {}
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      let scans = 0
      const scanner = scriptedScanner(async () => {
        if (++scans > 1) return 'clean'
        entered()
        await held
        return 'infected'
      })
      const vault = await openFileVault(engine.fresh().open(), { scanner })
      const id = await upload(vault)
      await begun
      if (change === 'replace')
        await vault.session.uploadFile({ table: 'people', id, column: 'paper', file: CONTENT.subarray(1) })
      if (change === 'delete') await vault.session.deleteFile('people', id, 'paper')
      if (change === 'delete record') await vault.session.delete('people', [id])
      release()
      if (change === 'replace') await untilStatus(() => status(vault, id), 'SCAN_CLEAN')
      if (change === 'delete') expect(await status(vault, id)).toBe('SCAN_FILE_NOT_FOUND')
      await vault.vault.close()
    }
  })

  it('that were pending go on after a restart, and one file is not scanned by two processes', async () => {
    const place = engine.fresh()
    const blobs = countedBlobs()
    const clock = { ms: Date.UTC(2026, 0, 31, 12) }
    const hanging = { scan: () => new Promise<never>(() => {}) }
    const dead = await openFileVault(place.open(), { blobs, clock, scanner: hanging })
    const id = await upload(dead)
    await untilStatus(async () => blobs.keys().length, 1)
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    let scans = 0
    const scanner = scriptedScanner(() => {
      scans++
      return 'clean'
    })
    const next = await openFileVault(place.open(), { blobs, clock, scanner })
    await untilClaimed(next)
    expect((await next.vault.scanFiles()).scanned).toBe(0)
    clock.ms += 5 * 60_000
    const third = await openFileVault(place.open(), { blobs, clock, scanner })
    await Promise.all([next.vault.scanFiles(), third.vault.scanFiles(), next.vault.scanFiles()])
    await untilStatus(() => status(next, id), 'SCAN_CLEAN')
    expect(scans).toBe(1)
  })

  it('do not make a file clean if the scanner ignored the error of a changed content', async () => {
    const storage = engine.fresh().open()
    const blobs = countedBlobs()
    const id = await upload(await openFileVault(storage, { blobs }))
    for (const blob of blobs.stored.values()) blob[100_000] = (blob[100_000] ?? 0) ^ 1
    const scanner: FileScanner = {
      async scan({ content }) {
        try {
          for await (const _chunk of content);
        } catch {
          // On purpose.
        }
        return 'clean'
      },
    }
    const vault = await openFileVault(storage, { blobs, scanner })
    await untilStatus(() => status(vault, id), 'SCAN_INVALID')
    await expectClosed(vault, id)
  })

  it.each([
    ['ignores the abort', () => {}],
    [
      'throws at the abort',
      () => {
        throw new Error('foreign')
      },
    ],
  ])('do not hold up the closing of the vault by a scanner that %s', async (_name, onAborted) => {
    const storage = engine.fresh().open()
    let begin = (): void => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const scanner: FileScanner = {
      scan({ signal }) {
        signal.addEventListener('abort', onAborted)
        begin()
        return new Promise(() => {})
      },
    }
    const vault = await openFileVault({ ...storage, close: async () => {} }, { scanner })
    await upload(vault)
    await begun
    await vault.vault.close()
    const rows = await storage.find(FILES.name, { kind: 'all' }, { order: 'asc', limit: 10 })
    expect(rows.map(({ scan_at }) => scan_at)).toEqual([vault.clock.ms])
  })

  it('are given up when the vault closes, and the file is due at once for the next one', async () => {
    const place = engine.fresh()
    const blobs = countedBlobs()
    let begun = 0
    let cancelled = 0
    const scanner: FileScanner = {
      scan: ({ signal }) =>
        new Promise<ScanVerdict>((_, reject) => {
          begun++
          signal.addEventListener('abort', () => {
            cancelled++
            reject(new VaultError('cancelled', 'Scan cancelled.'))
          })
        }),
    }
    const storage = place.open()
    const closing = await openFileVault(storage, { blobs: { ...blobs, close: async () => {} }, scanner })
    const id = await upload(closing)
    await untilStatus(async () => begun, 1)
    if (engine.name === 'memory') return
    await closing.vault.close()
    expect(cancelled).toBe(1)
    const next = await openFileVault(place.open(), { blobs, scanner: scriptedScanner(() => 'clean') })
    await untilStatus(() => status(next, id), 'SCAN_CLEAN')
  })
})

/** Waits until the value is the expected one. Turns of the event loop alone are over before a database answers. */
async function untilStatus<T>(read: () => Promise<T>, expected: T): Promise<void> {
  const end = performance.now() + MAX_WAIT_MS
  while (performance.now() < end) {
    if ((await read()) === expected) return
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(await read()).toBe(expected)
}

/** Waits until no scan is due. */
async function untilClaimed({ storage }: FileVault): Promise<void> {
  for (let turn = 0; turn < 2000; turn++) {
    const [row] = await storage.find('files', { kind: 'all' }, { order: 'asc', limit: 1, columns: ['scan_at'] })
    if (typeof row?.scan_at === 'number' && row.scan_at > Date.UTC(2026, 0, 31, 12)) return
    await new Promise((resolve) => setImmediate(resolve))
  }
}
