/** Files: uploads, openings, replacements and deletions, and what is left of those that fail. */
import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { VaultError } from '../../../src/core/errors.ts'
import { bytesOf, countedBlobs, type FileVault, openFileVault, pngOf } from '../../support/files/open-file-vault.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { asLoose } from '../../support/vaults/open-untyped.ts'

const PIECE = 65_536
const text = (length: number, fill = 'x'): Uint8Array => Buffer.alloc(length, fill)

onEachStorage('files', (engine) => {
  const open = (options = {}): Promise<FileVault> => openFileVault(engine.fresh().open(), options)
  const content = async ({ session }: FileVault, id: string, column: 'photo' | 'paper' = 'paper') =>
    bytesOf((await session.openFile('people', id, column)).stream)

  it.each([1, 15, PIECE - 1, PIECE, PIECE + 1, 4 * PIECE, 4 * PIECE + 1, 399_999])(
    'of %i bytes come back as they were',
    async (size) => {
      const vault = await open()
      const id = await vault.person()
      const file = Buffer.from(Array.from({ length: size }, (_, index) => index % 251))
      await vault.session.uploadFile({ table: 'people', id, column: 'paper', file })
      expect((await content(vault, id)).equals(file)).toBe(true)
      for (const [start, end] of [
        [0, 1],
        [size - 1, size],
        [size >> 1, size],
        [PIECE - 1, PIECE + 1],
      ] as const) {
        if (start >= size) continue
        const opened = await vault.session.openFile('people', id, 'paper', { range: { start, end } })
        expect((await bytesOf(opened.stream)).equals(file.subarray(start, end))).toBe(true)
        expect(opened.range).toEqual({ start, end: Math.min(end, size) })
        expect(opened.size).toBe(size)
      }
      for (const last of [1, PIECE + 1, size, size + 1]) {
        const opened = await vault.session.openFile('people', id, 'paper', { range: { last } })
        expect((await bytesOf(opened.stream)).equals(file.subarray(-last))).toBe(true)
        expect(opened.range).toEqual({ start: Math.max(0, size - last), end: size })
      }
    },
  )

  it('are taken from bytes, blobs, web streams, Node streams and other iterables, in chunks of any length', async () => {
    const vault = await open()
    const file = text(100_000, 'abc')
    const chunks = [file.subarray(0, 0), file.subarray(0, 1), file.subarray(1, 70_000), file.subarray(70_000)]
    const sources = [
      file,
      file.buffer.slice(file.byteOffset, file.byteOffset + file.length) as ArrayBuffer,
      new Blob([file as Uint8Array<ArrayBuffer>]),
      new File([file as Uint8Array<ArrayBuffer>], 'a.txt'),
      new Blob([file as Uint8Array<ArrayBuffer>]).stream(),
      Readable.from(chunks),
      (async function* () {
        yield* chunks
      })(),
    ]
    for (const source of sources) {
      const { id } = await vault.session.uploadFile({ table: 'people', column: 'paper', file: source })
      expect((await content(vault, id)).equals(file)).toBe(true)
    }
  })

  it('have their name cleaned, their size in KB rounded up, and the type of their content', async () => {
    const vault = await open()
    const id = await vault.person()
    const upload = (fileName: string | undefined, file: Uint8Array) =>
      vault.session.uploadFile({
        table: 'people',
        id,
        column: 'photo',
        file,
        returnFileMetadata: true,
        ...(fileName === undefined ? {} : { fileName }),
      })
    const first = await upload('../../etc/ev\u202egnp.\r\nexe', pngOf(2000))
    expect(first).toEqual({ id, fileMetadata: { photo: { fileName: 'evgnp.exe', fileSizeKB: 2, fileType: 'image/png' } } })
    expect((await upload(undefined, pngOf(0))).fileMetadata).toEqual({
      photo: { fileName: 'file', fileSizeKB: 1, fileType: 'image/png' },
    })
    const long = await upload(`${'n'.repeat(10_000)}.png`, pngOf(1009))
    expect(long.fileMetadata.photo).toMatchObject({ fileSizeKB: 2 })
    expect(long.fileMetadata.photo?.fileName).toMatch(/^n{251}\.png$/)
    const read = await vault.session.getOne('people', id, { returnFileMetadata: true, downloadTickets: true })
    expect(read.fields.photo).toBe(long.fileMetadata.photo?.fileName)
    expect(read.fields.paper).toBeNull()
    expect(read.fileMetadata).toEqual(long.fileMetadata)
    expect(Object.keys(read.downloadTickets)).toEqual(['photo'])
    const plain = await vault.session.getOne('people', id)
    expect(Object.keys(plain).sort()).toEqual(['fields', 'id', 'levels'])
  })

  it('make a record of their own without an id, and cannot where a column is required', async () => {
    const vault = await open()
    const { id } = await vault.session.uploadFile({ table: 'people', column: 'photo', file: pngOf(10) })
    const { fields } = await vault.session.getOne('people', id)
    expect(fields).toEqual({ name: null, country: null, photo: 'file', paper: null })
    await expect(vault.session.uploadFile({ table: 'teams', column: 'badge', file: pngOf(10) })).rejects.toMatchObject({
      code: 'unprocessable',
    })
    expect([await vault.fileRows(), vault.blobs.keys().length]).toEqual([1, 1])
  })

  it('that are refused leave nothing behind', async () => {
    const vault = await open()
    const id = await vault.person()
    const person = { table: 'people', id } as const
    const paper = { ...person, column: 'paper' } as const
    const { session } = vault
    const loose = asLoose(session) as unknown as { uploadFile(given: unknown): Promise<unknown> }
    const failing = async function* (...chunks: unknown[]) {
      yield* chunks
      throw new Error('secret of the source')
    }
    const refused: [code: string, upload: () => Promise<unknown>][] = [
      ['unprocessable', () => session.uploadFile({ ...paper, file: new Uint8Array(0) })],
      ['unprocessable', () => session.uploadFile({ ...paper, file: Readable.from([new Uint8Array(0)]) })],
      ['limit_exceeded', () => session.uploadFile({ ...paper, file: text(400_001) })],
      ['unprocessable', () => session.uploadFile({ ...person, column: 'photo', file: text(30), fileName: 'photo.png' })],
      ['cancelled', () => loose.uploadFile({ ...paper, file: failing() })],
      ['cancelled', () => loose.uploadFile({ ...paper, file: failing(text(300_000)) })],
      ['invalid_request', () => loose.uploadFile({ ...paper, file: Readable.from(['text']) })],
      ['invalid_request', () => loose.uploadFile({ ...paper, file: 'text' })],
      ['invalid_request', () => loose.uploadFile({ ...paper, file: undefined })],
      ['invalid_request', () => loose.uploadFile({ ...paper, file: text(1), fileName: 7 })],
      ['unprocessable', () => loose.uploadFile({ ...person, column: 'name', file: text(1) })],
      ['invalid_request', () => loose.uploadFile({ ...person, column: 'nothing', file: text(1) })],
      ['not_found', () => loose.uploadFile({ table: 'nothing', column: 'paper', file: text(1) })],
      ['not_found', () => session.uploadFile({ ...paper, id: 'b1b1b1b1-0000-4000-8000-000000000000', file: text(1) })],
    ]
    for (const [code, upload] of refused) {
      const error = await upload().then(
        () => undefined,
        (caught: unknown) => caught,
      )
      expect(error).toMatchObject({ code })
      expect(String(error)).not.toContain('secret')
    }
    expect([await vault.fileRows(), vault.blobs.keys()]).toEqual([0, []])
    expect((await session.getOne('people', id, { redaction: 'PLAIN_TEXT' })).fields.paper).toBeNull()
  })

  it('take their length from the bytes themselves, and refuse chunks that shrink or are transferred while the store writes', async () => {
    const held = countedBlobs()
    let change = (): void => {}
    const blobs = {
      ...held,
      write: (key: string, sealed: AsyncIterable<Uint8Array>) =>
        held.write(
          key,
          (async function* () {
            for await (const bytes of sealed) {
              change()
              yield bytes
            }
          })(),
        ),
    }
    const vault = await open({ blobs })
    const id = await vault.person()
    const paper = { table: 'people', id, column: 'paper' } as const
    class Shorter extends Uint8Array {
      override get length(): number {
        return 5
      }
      override subarray(): Uint8Array<ArrayBuffer> {
        return new Uint8Array(0)
      }
    }
    await vault.session.uploadFile({ ...paper, file: Shorter.from(text(10)) })
    expect((await content(vault, id)).equals(text(10))).toBe(true)
    await vault.session.deleteFile('people', id, 'paper')
    // The types of the language version that is compiled to do not know buffers that shrink.
    const shrinking: ArrayBuffer = Reflect.construct(ArrayBuffer, [350_000, { maxByteLength: 350_000 }])
    const shrink = (): void => Reflect.apply(Reflect.get(shrinking, 'resize'), shrinking, [10])
    const transferred = new ArrayBuffer(350_000)
    const transfer = (): void => void structuredClone(transferred, { transfer: [transferred] })
    const looksLikeBytes = new Proxy(new Uint8Array(10), {})
    for (const [file, changed] of [
      [new Uint8Array(shrinking), shrink],
      [new Uint8Array(transferred), transfer],
      [looksLikeBytes, () => {}],
    ] as const) {
      change = changed
      await expect(vault.session.uploadFile({ ...paper, file })).rejects.toMatchObject({ code: 'invalid_request' })
    }
    expect([await vault.fileRows(), held.keys()]).toEqual([0, []])
  })

  it('are read in chunks that belong to their reader, who can transfer them', async () => {
    const vault = await open()
    const file = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251))
    const { id } = await vault.session.uploadFile({ table: 'people', column: 'paper', file })
    const opened = await vault.session.openFile('people', id, 'paper', { range: { start: 5, end: 299_990 } })
    const taken: Uint8Array[] = []
    for await (const chunk of opened.stream) {
      expect(chunk.buffer.byteLength).toBe(chunk.length)
      taken.push(structuredClone(chunk, { transfer: [chunk.buffer as ArrayBuffer] }))
    }
    expect(Buffer.concat(taken).equals(file.subarray(5, 299_990))).toBe(true)
  })

  it('have no status for records that throw when they are read, and the error says so', async () => {
    const { session } = await open()
    const record = {
      get table(): 'people' {
        throw new Error('secret of the caller')
      },
      id: '',
      fileColumns: ['paper'] as const,
    }
    await expect(session.fileStatuses([record])).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('are replaced whole: who reads the old one reads it to its end, and the purge removes it later', async () => {
    const vault = await open()
    const id = await vault.person()
    const paper = { table: 'people', id, column: 'paper' } as const
    await vault.session.uploadFile({ ...paper, file: text(300_000, 'a') })
    const { stream } = await vault.session.openFile('people', id, 'paper')
    const reading = stream[Symbol.asyncIterator]()
    const first = await reading.next()
    await vault.session.uploadFile({ ...paper, file: text(200_000, 'b') })
    expect((await content(vault, id)).equals(text(200_000, 'b'))).toBe(true)
    const rest = await bytesOf({ [Symbol.asyncIterator]: () => reading })
    expect((first.value?.length ?? 0) + rest.length).toBe(300_000)
    expect(new Set(rest)).toEqual(new Set([0x61]))
    expect(await vault.vault.sweep()).toMatchObject({ transients: 0, files: 0, credentials: 0 })
    vault.clock.ms += 15 * 60_000
    expect(await vault.vault.sweep()).toMatchObject({ transients: 0, files: 1, credentials: 0 })
    expect([await vault.fileRows(), vault.blobs.keys().length]).toEqual([1, 1])
  })

  it('end with deleteFile, with their record, and with all records of a table', async () => {
    const vault = await open()
    const { session } = vault
    const [one, two, three] = [await vault.person(), await vault.person(), await vault.person()]
    for (const id of [one, two, three]) {
      await session.uploadFile({ table: 'people', id, column: 'paper', file: text(10) })
      await session.uploadFile({ table: 'people', id, column: 'photo', file: pngOf(10) })
    }
    expect(await session.deleteFile('people', one, 'paper')).toEqual({ id: one, deleted: true })
    await expect(session.deleteFile('people', one, 'paper')).rejects.toMatchObject({ code: 'not_found' })
    await expect(session.openFile('people', one, 'paper')).rejects.toMatchObject({ code: 'not_found' })
    expect((await content(vault, one, 'photo')).equals(pngOf(10))).toBe(true)
    expect([await vault.fileRows(), vault.blobs.keys().length]).toEqual([5, 5])
    await session.delete('people', [two])
    expect([await vault.fileRows(), vault.blobs.keys().length]).toEqual([3, 3])
    await session.delete('people', '*')
    expect([await vault.fileRows(), vault.blobs.keys().length]).toEqual([0, 0])
  })

  it('stay with an update of other columns, and take no value from inserts and updates', async () => {
    const vault = await open()
    const id = await vault.person()
    const session = asLoose(vault.session)
    await vault.session.uploadFile({ table: 'people', id, column: 'paper', file: text(10) })
    await session.updateOne('people', id, { name: 'Bo' })
    expect(await content(vault, id)).toHaveLength(10)
    for (const paper of [null, 'x', { file: 1, size: 1, name: 'x', contentType: 'text/plain' }]) {
      await expect(session.updateOne('people', id, { paper })).rejects.toMatchObject({ code: 'unprocessable' })
      await expect(session.insert('people', [{ fields: { paper } }])).rejects.toMatchObject({ code: 'unprocessable' })
    }
  })

  it('that are changed, swapped or missing in the blob store are data_loss, and no wrong byte is returned', async () => {
    const vault = await open()
    const [id, other] = [await vault.person(), await vault.person()]
    await vault.session.uploadFile({ table: 'people', id, column: 'paper', file: text(200_000, 'a') })
    await vault.session.uploadFile({ table: 'people', id: other, column: 'paper', file: text(200_000, 'b') })
    const [key = '', otherKey = ''] = vault.blobs.keys()
    const sound = vault.blobs.stored.get(key) ?? new Uint8Array(0)
    const foreign = vault.blobs.stored.get(otherKey) ?? new Uint8Array(0)
    const piece = PIECE + 43
    const swapped = Buffer.concat([sound.subarray(piece, 2 * piece), sound.subarray(0, piece), sound.subarray(2 * piece)])
    const flipped = sound.slice()
    flipped[100_000] = (flipped[100_000] ?? 0) ^ 1
    const changes = [
      flipped,
      swapped,
      foreign,
      sound.subarray(0, 2 * piece),
      sound.subarray(0, sound.length - 1),
      new Uint8Array(0),
    ]
    for (const changed of changes) {
      vault.blobs.stored.set(key, changed)
      const { stream } = await vault.session.openFile('people', id, 'paper')
      const seen = new Set<number>()
      await expect(
        (async () => {
          for await (const chunk of stream) for (const byte of chunk) seen.add(byte)
        })(),
      ).rejects.toMatchObject({ code: 'data_loss' })
      expect([...seen].filter((byte) => byte !== 0x61)).toEqual([])
    }
    vault.blobs.stored.delete(key)
    await expect(content(vault, id)).rejects.toMatchObject({ code: 'data_loss' })
  })

  it('are no part of transactions: only a deletion can be, and it rolls back', async () => {
    const vault = await open()
    const id = await vault.person()
    await vault.session.uploadFile({ table: 'people', id, column: 'paper', file: text(10) })
    await vault.vault.transaction(async (inside) => {
      const session = inside.as({ actor: 'a', actorType: 'USER', roles: ['VAULT_OWNER'] })
      await expect(session.uploadFile({ table: 'people', id, column: 'paper', file: text(1) })).rejects.toMatchObject({
        code: 'failed_precondition',
      })
      await expect(session.openFile('people', id, 'paper')).rejects.toMatchObject({ code: 'failed_precondition' })
      expect(await session.fileStatus('people', id, 'paper')).toMatchObject({ fileStatus: 'UPLOADED' })
    })
    const rollback = new Error('roll back')
    await expect(
      vault.vault.transaction(async (inside) => {
        await inside.as({ actor: 'a', actorType: 'USER', roles: ['VAULT_OWNER'] }).deleteFile('people', id, 'paper')
        throw rollback
      }),
    ).rejects.toBe(rollback)
    expect(await content(vault, id)).toHaveLength(10)
    await vault.vault.transaction((inside) =>
      inside.as({ actor: 'a', actorType: 'USER', roles: ['VAULT_OWNER'] }).deleteFile('people', id, 'paper'),
    )
    expect([await vault.fileRows(), vault.blobs.keys().length]).toEqual([1, 1])
    expect(await vault.vault.sweep()).toMatchObject({ transients: 0, files: 1, credentials: 0 })
    expect([await vault.fileRows(), vault.blobs.keys().length]).toEqual([0, 0])
  })

  it('of uploads that never ended are removed by the purge a day later', async () => {
    const blobs = countedBlobs()
    const stuck = { ...blobs, write: () => new Promise<never>(() => {}) }
    const place = engine.fresh()
    const vault = await openFileVault(place.open(), { blobs: stuck })
    void vault.session.uploadFile({ table: 'people', column: 'paper', file: text(10) })
    while ((await vault.fileRows()) === 0) await new Promise((resolve) => setImmediate(resolve))
    vault.clock.ms += 24 * 60 * 60_000 - 1
    expect(await vault.vault.sweep()).toMatchObject({ transients: 0, files: 0, credentials: 0 })
    vault.clock.ms += 1
    expect(await vault.vault.sweep()).toMatchObject({ transients: 0, files: 1, credentials: 0 })
    expect(await vault.fileRows()).toBe(0)
  })

  it('that take more than a day and are purged meanwhile are aborted, and leave nothing', async () => {
    for (const notices of [true, false]) {
      let release = (): void => {}
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      const blobs = countedBlobs()
      const slow = {
        ...blobs,
        async write(key: string, content: AsyncIterable<Uint8Array>) {
          await held
          if (notices) throw new VaultError('not_found', 'The blob was deleted while it was written.')
          await blobs.write(key, content)
        },
      }
      const vault = await openFileVault(engine.fresh().open(), { blobs: slow })
      const upload = vault.session.uploadFile({ table: 'people', column: 'paper', file: text(10) })
      const outcome = expect(upload).rejects.toMatchObject({
        code: 'aborted',
        message: 'Upload failed. The upload took too long and was removed. Upload the file again.',
      })
      while ((await vault.fileRows()) === 0) await new Promise((resolve) => setImmediate(resolve))
      vault.clock.ms += 24 * 60 * 60_000
      expect(await vault.vault.sweep()).toMatchObject({ transients: 0, files: 1, credentials: 0 })
      release()
      await outcome
      expect([await vault.fileRows(), blobs.keys()]).toEqual([0, []])
    }
  })

  it('leave one event each, with the audit on', async () => {
    const vault = await open()
    const id = await vault.person()
    const { session } = vault
    await session.uploadFile({ table: 'people', id, column: 'paper', file: text(10), fileName: 'secret-name.txt' })
    await session.openFile('people', id, 'paper')
    await session.fileStatus('people', id, 'paper')
    await session.fileStatuses([{ table: 'people', id, fileColumns: ['paper', 'photo'] }])
    await session.downloadTicket('people', id, 'paper')
    await session.uploadTicket({ table: 'people', id, columns: ['photo'] })
    await session.deleteFile('people', id, 'paper')
    const { events } = await session.listEvents({ filterOps: { accountID: 'v1', resourceIDs: `FILE/${id}` } })
    expect(events.map(({ request, response }) => [request.actionType, response.code])).toEqual([
      ['DELETE_FILE', 200],
      ['UPLOAD_URL', 200],
      ['DOWNLOAD_URL', 200],
      ['FILE_STATUS', 200],
      ['FILE_STATUS', 200],
      ['OPEN_FILE', 200],
      ['UPLOAD_FILE', 200],
    ])
    expect(JSON.stringify(events)).not.toContain('secret-name')
    expect(await vault.vault.verifyAudit()).toMatchObject({ ok: true })
  })
})
