/** Long work of a vault: its signal ends it at every step, and its callback receives how far it has come, and can end it. */
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { FileScanner, ScanVerdict } from '../../../src/blob-port.ts'
import type { Progress } from '../../../src/core/util/boundary.ts'
import type { WatchOptions } from '../../../src/core/vault/outside-calls.ts'
import { column, createVault, defineSchema, type Vault, VaultError } from '../../../src/index.ts'
import type { StorageHandle } from '../../../src/storage-port.ts'
import { openFileVault, pngOf } from '../../support/files/open-file-vault.ts'
import { abortedEverywhere } from '../../support/signals/aborted-at.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

/** Records of a vault under test: more than the first slices of a verification have. */
const COUNT = 60
const MINUTE = 60_000

const things = (name = column.string({ redaction: 'PLAIN_TEXT' })) =>
  defineSchema({ things: { name, code: column.string({ token: 'transient' }) } })

function open(
  storage: StorageHandle,
  more: WatchOptions & { schema?: ReturnType<typeof things>; schemaChanges?: 'apply'; clock?: { ms: number } } = {},
) {
  const { schema = things(), clock = { ms: Date.UTC(2026, 0, 31) }, ...others } = more
  return createVault({
    ...{ id: 'v1', schema, storage, keys: localKeys({ key: TEST_SECRET }), ...others },
    clock: { now: () => BigInt(clock.ms) * 1_000_000n },
  })
}

async function fill(vault: Awaited<ReturnType<typeof open>>): Promise<void> {
  const records = Array.from({ length: COUNT }, (_, index) => ({ fields: { name: `n${index}`, code: `c${index}` } }))
  for (let start = 0; start < COUNT; start += 20) await vault.as(OWNER).insert('things', records.slice(start, start + 20))
}

/** Long work of each kind, on a vault that has some to do. */
const WORK: Readonly<Record<string, (vault: Vault<never>, options: WatchOptions) => Promise<unknown>>> = {
  verifyRecords: (vault, options) => vault.verifyRecords(options),
  verifyAudit: (vault, options) => vault.verifyAudit(options),
  sweep: (vault, options) => vault.sweep(options),
}

onEachStorage('long work', (engine) => {
  it.each(Object.entries(WORK))(
    'of %s ends at each of its steps once it is aborted, and does all of it later',
    async (_, work) => {
      const clock = { ms: Date.UTC(2026, 0, 31) }
      const vault = await open(engine.fresh().open(), { clock })
      await fill(vault)
      clock.ms += 61 * MINUTE
      const { result, aborts } = await abortedEverywhere((signal) => work(vault as never, { signal }))
      expect(aborts).toBeGreaterThan(1)
      expect(result).toEqual(expect.objectContaining({}))
      expect(await work(vault as never, {})).toBeDefined()
    },
  )

  it.each(Object.entries(WORK))(
    'of %s reports rising numbers, up to the total if it is known, and awaits its callback',
    async (_, work) => {
      const clock = { ms: Date.UTC(2026, 0, 31) }
      const vault = await open(engine.fresh().open(), { clock })
      await fill(vault)
      clock.ms += 61 * MINUTE
      const reports: Progress[] = []
      let inside = 0
      await work(vault as never, {
        async onProgress(progress) {
          expect(++inside).toBe(1)
          await new Promise((resolve) => setImmediate(resolve))
          inside--
          reports.push(progress)
        },
      })
      const numbers = reports.map(({ done }) => done)
      expect(numbers).toEqual(numbers.toSorted((left, right) => left - right))
      expect(numbers.at(-1)).toBeGreaterThan(2)
      const { total, done } = reports.at(-1) ?? { done: 0 }
      expect(total ?? done).toBe(done)
    },
  )

  it.each(Object.entries(WORK))('of %s ends with what its callback throws, unchanged', async (_, work) => {
    const vault = await open(engine.fresh().open())
    await fill(vault)
    for (const own of [new Error('own'), new VaultError('conflict', 'own'), 'own', undefined]) {
      for (const isAsync of [false, true]) {
        const onProgress = (): unknown => {
          if (isAsync) return Promise.reject(own)
          throw own
        }
        const thrown: unknown = await work(vault as never, { onProgress }).then(
          () => 'nothing was thrown',
          (error: unknown) => error,
        )
        expect(thrown).toBe(own)
      }
    }
    await vault.close()
  })

  it.each([
    ...Object.entries(WORK),
    ['scanFiles', (vault: Vault<never>, options: WatchOptions) => vault.scanFiles(options)] as const,
  ])('of %s refuses other signals and callbacks, and quotes nothing of what they throw', async (_, work) => {
    const vault = (await open(engine.fresh().open())) as never
    const canary = 'Quetzalcoatl'
    const hostile = {
      get aborted(): boolean {
        throw new Error(canary)
      },
    }
    for (const [message, options] of [
      ['signal must be an AbortSignal.', { signal: canary }],
      ['signal must be an AbortSignal.', { signal: {} }],
      ['', { signal: null }],
      ['onProgress must be a function.', { onProgress: canary }],
      ['', { onProgress: null }],
      ...['1', 0, -1, Number.NaN, Number.POSITIVE_INFINITY].map(
        (pace) => ['pace must be a number of rows a second, above 0.', { pace }] as const,
      ),
      ['', { pace: null }],
      ['The input cannot be read', { signal: hostile }],
    ] as const) {
      const error: unknown = await work(vault, options as never).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'invalid_request', message: expect.stringContaining(` failed. ${message}`) })
      expect(String(error)).not.toContain(canary)
    }
  })

  it('of an export ends in place of the next line', async () => {
    const vault = await open(engine.fresh().open())
    await fill(vault)
    const controller = new AbortController()
    const lines: string[] = []
    const read = async () => {
      for await (const line of vault.exportAudit({ signal: controller.signal })) if (lines.push(line) === 3) controller.abort()
    }
    await expect(read()).rejects.toMatchObject({
      code: 'cancelled',
      message: 'Export failed. It was cancelled by its AbortSignal.',
    })
    expect(lines).toHaveLength(3)
    await expect(
      vault
        .exportAudit({ signal: 5 as never })
        [Symbol.asyncIterator]()
        .next(),
    ).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'Export failed. signal must be an AbortSignal.',
    })
  })
})

/** A look-up that the schema of the type does not have yet. */
const LOOK_UP: object = { where: { name: 'n7' } }

onEachStorage('the opening of a vault whose column becomes searchable', (engine) => {
  const searchable = things(column.string({ redaction: 'PLAIN_TEXT', searchable: true }))

  it('reports the records that have their digest, of all', async () => {
    const place = engine.fresh()
    await fill(await open(place.open()))
    const reports: Progress[] = []
    const onProgress = (progress: Progress) => reports.push(progress)
    const vault = await open(place.open(), { schema: searchable, schemaChanges: 'apply', onProgress })
    expect(reports.at(-1)).toEqual({ done: COUNT, total: COUNT })
    const { records } = await vault.as(OWNER).get('things', LOOK_UP)
    expect(records).toHaveLength(1)
  })

  it('ends at each of its steps by an abort, and by an error of the callback, which is thrown unchanged, and goes on later', async () => {
    const place = engine.fresh()
    await fill(await open(place.open()))
    const own = new VaultError('conflict', 'own')
    let calls = 0
    const onProgress = (): void => {
      if (++calls === 1) throw own
    }
    await expect(open(place.open(), { schema: searchable, schemaChanges: 'apply', onProgress })).rejects.toBe(own)
    const notYet = async () => {
      const old = await open(place.open())
      await expect(old.as(OWNER).perform('get', { table: 'things', options: LOOK_UP, areTexts: true })).rejects.toMatchObject({
        code: 'invalid_request',
      })
      await old.as(OWNER).updateOne('things', (await old.as(OWNER).get('things')).records[0]?.id ?? '', { name: 'n0' })
    }
    const { result, aborts } = await abortedEverywhere(
      (signal) => open(place.open(), { schema: searchable, schemaChanges: 'apply', signal }),
      notYet,
    )
    expect(aborts).toBeGreaterThan(2)
    expect((await result.as(OWNER).get('things', LOOK_UP)).records).toHaveLength(1)
  })

  it('refuses other signals and callbacks', async () => {
    for (const wrong of [{ signal: 5 }, { signal: {} }, { onProgress: 5 }, { onProgress: {} }]) {
      await expect(open(engine.fresh().open(), wrong as never)).rejects.toMatchObject({
        code: 'invalid_request',
        message: expect.stringContaining(`Cannot open the vault: option "${Object.keys(wrong)[0]}" must be`),
      })
    }
  })
})

onEachStorage('the scans of files', (engine) => {
  /** A vault whose background scans hold their two files until `release`; others go to `scan`. */
  async function openHeld(scan: () => Promise<ScanVerdict>) {
    const storage = engine.fresh().open()
    const before = await openFileVault(storage)
    const ids: string[] = []
    for (let count = 0; count < 5; count++)
      ids.push((await before.session.uploadFile({ table: 'people', column: 'photo', file: pngOf(10) })).id)
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let scans = 0
    const scanner: FileScanner = {
      scan: ({ content }) =>
        ++scans > 2
          ? scan()
          : held.then(async (): Promise<ScanVerdict> => {
              for await (const _ of content);
              return 'clean'
            }),
    }
    const files = await openFileVault(storage, { scanner, blobs: before.blobs })
    while (scans < 2) await new Promise((resolve) => setImmediate(resolve))
    const states = async () =>
      Promise.all(ids.map(async (id) => (await files.session.fileStatus('people', id, 'photo')).avScanStatus))
    return { vault: files.vault, release, states }
  }

  it('report the files scanned, and end with what the callback throws', async () => {
    const { vault, release } = await openHeld(async () => 'infected')
    const own = new Error('own')
    const done: Progress[] = []
    const onProgress = (progress: Progress): void => {
      done.push(progress)
      if (done.length === 2) throw own
    }
    await expect(vault.scanFiles({ onProgress })).rejects.toBe(own)
    release()
    expect(await vault.scanFiles({ onProgress })).toEqual({ scanned: 1 })
    expect(done).toEqual([{ done: 1 }, { done: 2 }, { done: 1 }])
  })

  it('of an aborted call end, also beside a scanner that does not, and the file is due again at once', async () => {
    const controller = new AbortController()
    let calls = 0
    const { vault, release, states } = await openHeld(() => {
      if (++calls > 1) return Promise.resolve('infected')
      setImmediate(() => controller.abort())
      return new Promise(() => {})
    })
    await expect(vault.scanFiles({ signal: controller.signal })).rejects.toMatchObject({
      code: 'cancelled',
      message: 'Scan failed. It was cancelled by its AbortSignal.',
    })
    await expect(vault.scanFiles({ signal: controller.signal })).rejects.toMatchObject({ code: 'cancelled' })
    expect(calls).toBe(1)
    // Those of the background are waited for, unless the call is aborted.
    const waiting = new AbortController()
    const scanned = vault.scanFiles({ signal: waiting.signal })
    setImmediate(() => waiting.abort())
    await expect(scanned).rejects.toMatchObject({ code: 'cancelled' })
    release()
    await vault.scanFiles()
    expect(calls).toBe(4)
    expect((await states()).sort()).toEqual(['SCAN_CLEAN', 'SCAN_CLEAN', 'SCAN_INFECTED', 'SCAN_INFECTED', 'SCAN_INFECTED'])
  })
})
