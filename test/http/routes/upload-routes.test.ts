/** Uploads with a bearer: parts in any order, what is refused, and that nothing of it is kept. */
import { expect, it } from 'vitest'
import { bytesOf, pngOf } from '../../support/files/open-file-vault.ts'
import { CLERK_CREDENTIAL } from '../../support/http/ask.ts'
import { multipart, type Part } from '../../support/http/multipart.ts'
import { type ServedFiles, serveFiles } from '../../support/http/serve-files.ts'
import { onEachStorage } from '../../support/storages/engines.ts'

const UPLOAD = '/v2/vaults/v1/files/upload'
const PAPER = Buffer.from('A paper about Ann.\n')
const NO_ID = '00000000-0000-4000-8000-000000000000'
const TABLE: Part = { key: 'tableName', content: 'people' }
const COLUMN: Part = { key: 'columnName', content: 'paper' }
const METADATA: Part = { key: 'returnFileMetadata', content: 'true' }
const FILE: Part = { key: 'file', content: PAPER, fileName: 'paper.txt' }
/** Longer than what is held in memory to wait for other parts. */
const LONG: Part = { key: 'file', content: Buffer.alloc(1_100_000, 'long '), fileName: 'long.txt' }

onEachStorage('routes of uploads', (engine) => {
  const served = async (work: (files: ServedFiles) => Promise<void>, options = {}): Promise<void> => {
    const files = await serveFiles(engine, options)
    try {
      await work(files)
    } finally {
      await files.close()
    }
  }
  const upload = ({ ask }: ServedFiles, ...parts: readonly Part[]) => ask('POST', UPLOAD, multipart(...parts))
  const contentOf = async ({ session }: ServedFiles, id: string, column: 'paper' | 'photo' = 'paper') =>
    bytesOf((await session.openFile('people', id, column)).stream)
  const expectNothingKept = async (files: ServedFiles): Promise<void> => {
    expect(await files.fileRows()).toBe(0)
    expect(files.blobs.keys()).toEqual([])
  }

  it('store a file in a new record, and in one that exists', () =>
    served(async (files) => {
      const created = await upload(files, TABLE, COLUMN, METADATA, FILE)
      const { svcID, fileMetadata } = created.json
      expect(created.status).toBe(200)
      expect(fileMetadata).toEqual({ paper: { fileName: 'paper.txt', fileSizeKB: 1, fileType: 'text/plain' } })
      expect((await contentOf(files, svcID)).equals(PAPER)).toBe(true)

      const replaced = await upload(
        files,
        TABLE,
        { key: 'columnName', content: 'photo' },
        { key: 'svcID', content: svcID },
        {
          key: 'file',
          content: pngOf(300_000),
          fileName: 'photo.exe',
        },
      )
      expect([replaced.status, replaced.json]).toEqual([200, { svcID }])
      expect((await contentOf(files, svcID, 'photo')).equals(pngOf(300_000))).toBe(true)
    }))

  it('take the parts in every order', () =>
    served(async (files) => {
      const id = await files.person()
      const orders = permutations([TABLE, COLUMN, { key: 'svcID', content: id }, FILE])
      for (const [number, parts] of orders.entries()) {
        const content = Buffer.from(`paper ${number}`)
        const sent = parts.map((part) => (part === FILE ? { ...FILE, content } : part))
        const { status, json } = await upload(files, ...sent)
        expect([status, json], parts.map(({ key }) => key).join()).toEqual([200, { svcID: id }])
        expect((await contentOf(files, id)).toString()).toBe(`paper ${number}`)
      }
      const late = await upload(files, TABLE, COLUMN, FILE, { key: 'svcID', content: '' }, METADATA)
      expect(late.json.svcID).not.toBe(id)
      expect(late.json.fileMetadata.paper.fileName).toBe('paper.txt')
    }))

  it('refuse what is no upload, with the parts that are wrong, and keep nothing', () =>
    served(async (files) => {
      const id = await files.person()
      const first = [TABLE, COLUMN, { key: 'svcID', content: id }]
      const cases: readonly (readonly [string, readonly Part[], number, number])[] = [
        ['two files', [...first, FILE, FILE], 400, 3],
        ['two files, the first one long', [...first, { ...FILE, content: Buffer.alloc(300_000, 'x') }, FILE], 400, 3],
        ['no file', first, 400, 3],
        ['no parts', [], 400, 3],
        ['no table', [COLUMN, FILE], 400, 3],
        ['no column', [TABLE, FILE], 400, 3],
        ['a blank table', [{ key: 'tableName', content: '' }, COLUMN, FILE], 400, 3],
        ['an unknown part', [TABLE, { key: 'other', content: '1' }, COLUMN, FILE], 400, 3],
        ['an unknown part at the end', [TABLE, COLUMN, FILE, { key: 'other', content: '1' }], 400, 3],
        ['a member twice', [TABLE, TABLE, COLUMN, FILE], 400, 3],
        ['a wrong flag', [TABLE, COLUMN, { key: 'returnFileMetadata', content: 'yes' }, FILE], 400, 3],
        ['a wrong flag at the end', [TABLE, COLUMN, FILE, { key: 'returnFileMetadata', content: 'yes' }], 400, 3],
        ['a long file before the table', [LONG, TABLE, COLUMN], 400, 3],
        ['an empty file', [...first, { ...FILE, content: '' }], 422, 9],
        ['a file of a type that is not allowed', [TABLE, { key: 'columnName', content: 'photo' }, FILE], 422, 9],
        ['a file that is too long', [...first, { ...FILE, content: Buffer.alloc(400_001, 'x') }], 400, 8],
        ['a table that does not exist', [{ key: 'tableName', content: 'none' }, COLUMN, FILE], 404, 5],
        ['a column that does not exist', [TABLE, { key: 'columnName', content: 'none' }, FILE], 400, 3],
        ['a column of another type', [TABLE, { key: 'columnName', content: 'name' }, FILE], 422, 9],
        ['a record that does not exist', [TABLE, COLUMN, { key: 'svcID', content: NO_ID }, FILE], 404, 5],
        ['a record that does not exist, after the file', [TABLE, COLUMN, FILE, { key: 'svcID', content: NO_ID }], 404, 5],
      ]
      for (const [title, parts, status, code] of cases) {
        const answer = await upload(files, ...parts)
        expect([answer.status, answer.json?.error?.grpc_code], title).toEqual([status, code])
        expect(answer.json.error.message, title).toMatch(/^Upload failed\. /)
      }
      await expectNothingKept(files)
      expect((await files.session.getOne('people', id)).fields.paper).toBeNull()
    }))

  it('refuse a body that is not multipart, or not whole', () =>
    served(async (files) => {
      const { body, headers } = multipart(TABLE, COLUMN, FILE)
      const cut = await files.ask('POST', UPLOAD, { body: body.subarray(0, body.length - 30), headers })
      expect([cut.status, cut.json.error.grpc_code]).toEqual([400, 3])
      for (const type of ['application/json', 'multipart/form-data', 'multipart/form-data; boundary=""', '']) {
        const answer = await files.ask('POST', UPLOAD, { body, headers: { 'content-type': type } })
        expect([answer.status, answer.json.error.grpc_code], type).toEqual([400, 3])
      }
      expect((await files.ask('POST', UPLOAD)).status).toBe(400)
      await expectNothingKept(files)
    }))

  it('refuse a caller without grants before and after the content', () =>
    served(async (files) => {
      const id = await files.person()
      for (const parts of [
        [TABLE, COLUMN, FILE],
        [FILE, TABLE, COLUMN],
        [TABLE, COLUMN, { key: 'svcID', content: id }, FILE],
      ]) {
        const answer = await files.ask('POST', UPLOAD, { ...multipart(...parts), credential: CLERK_CREDENTIAL })
        expect([answer.status, answer.json.error.grpc_code]).toEqual([401, 7])
      }
      expect((await files.ask('POST', UPLOAD, { ...multipart(TABLE, COLUMN, FILE), credential: null })).status).toBe(401)
      await expectNothingKept(files)
    }))

  it('store names that are hostile as harmless ones', () =>
    served(async (files) => {
      const names: readonly (readonly [string, string])[] = [
        ['../../etc/passwd', 'passwd'],
        ['C:\\\\work\\\\note.txt', 'note.txt'],
        ['\u202Egpj.exe', 'gpj.exe'],
        ['%0D%0ASet-Cookie: a=b', 'Set-Cookie: a=b'],
        ['5%22 disk.txt', '5" disk.txt'],
        ['dir\\', 'dir'],
        ['', 'file'],
        ['..', 'file'],
        ['Ä\u200Bß名.txt', 'Äß名.txt'],
      ]
      for (const [given, stored] of names) {
        const { status, json } = await upload(files, TABLE, COLUMN, METADATA, { ...FILE, fileName: given })
        expect([status, json.fileMetadata?.paper.fileName], given).toEqual([200, stored])
      }
      const long = await upload(files, TABLE, COLUMN, METADATA, { ...FILE, fileName: `${'x'.repeat(10_000)}.txt` })
      expect(long.json.fileMetadata.paper.fileName).toBe(`${'x'.repeat(251)}.txt`)
    }))

  it('take the older form, whose one part has the column as its key', () =>
    served(async (files) => {
      const id = await files.person()
      const path = (record: string) => `/v1/vaults/v1/people/${record}/files`
      const file = { ...FILE, key: 'paper' }
      const { status, json } = await files.ask('POST', path(id), multipart(file))
      expect([status, json]).toEqual([200, { svc_id: id, tokens: {} }])
      expect((await contentOf(files, id)).equals(PAPER)).toBe(true)
      for (const [title, answer, wanted] of [
        ['two parts', await files.ask('POST', path(id), multipart(file, { ...file, key: 'photo' })), 400],
        ['no part', await files.ask('POST', path(id), multipart()), 400],
        ['an unknown column', await files.ask('POST', path(id), multipart({ ...file, key: 'none' })), 400],
        ['a column of another type', await files.ask('POST', path(id), multipart({ ...file, key: 'name' })), 422],
        ['an unknown record', await files.ask('POST', path(NO_ID), multipart(file)), 400],
        ['an empty file', await files.ask('POST', path(id), multipart({ ...file, content: '' })), 422],
      ] as const) {
        expect(answer.status, title).toBe(wanted)
      }
      expect((await contentOf(files, id)).equals(PAPER)).toBe(true)
      expect(await files.fileRows()).toBe(1)
    }))

  it('take the id of the record under the name that the host chose', () =>
    served(
      async (files) => {
        const id = await files.person()
        const { json } = await upload(files, TABLE, COLUMN, { key: 'rid', content: id }, FILE)
        expect(json).toEqual({ rid: id })
        expect((await upload(files, TABLE, COLUMN, { key: 'svcID', content: id }, FILE)).status).toBe(400)
      },
      { handler: { names: { fileId: 'rid' } } },
    ))
})

/** Every order of the items. */
function permutations<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]]
  return items.flatMap((item, index) => permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]))
}
