/** The routes of files with JSON bodies: status, deletion, and URLs to upload to. */
import { expect, it } from 'vitest'
import { scriptedScanner } from '../../support/files/open-file-vault.ts'
import { CLERK_CREDENTIAL } from '../../support/http/ask.ts'
import { type ServedFiles, serveFiles } from '../../support/http/serve-files.ts'
import { onEachStorage } from '../../support/storages/engines.ts'

const PAPER = Buffer.from('A paper about Ann.\n')
const NO_ID = '00000000-0000-4000-8000-000000000000'

onEachStorage('routes of files', (engine) => {
  const served = async (work: (files: ServedFiles) => Promise<void>, options = {}): Promise<void> => {
    const files = await serveFiles(engine, options)
    try {
      await work(files)
    } finally {
      await files.close()
    }
  }
  const withPaper = async ({ person, session }: ServedFiles): Promise<string> => {
    const id = await person()
    await session.uploadFile({ table: 'people', id, column: 'paper', file: PAPER, fileName: 'paper.txt' })
    return id
  }

  it('delete a file once, and say so', () =>
    served(async (files) => {
      const id = await withPaper(files)
      const path = `/v1/vaults/v1/people/${id}/files/paper`
      expect((await files.ask('DELETE', path, { body: {} })).json).toEqual({ svc_id: id, deleted: true })
      const again = await files.ask('DELETE', path)
      expect([again.status, again.json.error.grpc_code]).toEqual([404, 5])
      expect(await files.fileRows()).toBe(0)
      expect(files.blobs.keys()).toEqual([])
    }))

  it('answer the state of a scan within the documented statuses', () => {
    let begin = (): void => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    return served(
      async (files) => {
        const id = await withPaper(files)
        const path = (record: string, column = 'paper') => `/v1/vaults/v1/people/${record}/files/${column}/scan-status`
        const pending = await files.ask('GET', path(id))
        expect([pending.status, pending.json]).toEqual([200, { file_status: 'UPLOADED', av_scan_status: 'SCAN_PENDING' }])
        begin()
        await files.vault.scanFiles()
        expect((await files.ask('GET', path(id))).json.av_scan_status).toBe('SCAN_INFECTED')
        expect((await files.ask('GET', path(id, 'photo'))).json).toEqual({
          file_status: 'NOT_UPLOADED',
          av_scan_status: 'SCAN_FILE_NOT_FOUND',
        })
        for (const wrong of [path(NO_ID), path('none'), path(id, 'name'), path(id, 'nothing'), path('%0A')]) {
          expect((await files.ask('GET', wrong)).status, wrong).toBe(400)
        }
        expect((await files.ask('GET', path(id), { credential: CLERK_CREDENTIAL })).status).toBe(401)
      },
      { scanner: scriptedScanner(() => begun.then(() => 'infected' as const)) },
    )
  })

  it('answer the status of files of several records, with 207 if one has an error', () =>
    served(async (files) => {
      const id = await withPaper(files)
      const ask = (...records: unknown[]) => files.ask('POST', '/v2/vaults/v1/files/uploadStatus', { body: { records, more: 1 } })
      const paper = { av_scan_status: 'SCAN_UNSCANNABLE', file_status: 'UPLOADED', mimetype_status: 'ALLOWED' }
      const photo = { av_scan_status: 'SCAN_FILE_NOT_FOUND', file_status: 'NOT_UPLOADED', mimetype_status: 'NOT_UPLOADED' }
      const good = { tableName: 'people', fields: { svc_id: id, paper, photo }, http_code: 200 }

      const whole = await ask({ tableName: 'people', svcID: id, fileColumns: ['paper', 'photo'] })
      expect([whole.status, whole.json]).toEqual([200, { records: [good] }])
      const beside = await ask({ tableName: 'people', svcID: id, fileColumns: ['paper'], fileFields: ['paper', 'photo'] })
      expect([beside.status, beside.json]).toEqual([200, { records: [good] }])

      const unknown = { tableName: 'people', svcID: NO_ID, fileFields: ['paper'] }
      const some = await ask({ tableName: 'people', svcID: id, fileFields: ['paper', 'photo'] }, unknown)
      const error = {
        tableName: 'people',
        fields: { svc_id: NO_ID },
        error: `${NO_ID} isn't a valid svc_id ID. Specify a valid svc_id.`,
        http_code: 404,
      }
      expect([some.status, some.json]).toEqual([207, { records: [good, error] }])
      const all = await ask(
        unknown,
        { tableName: 'none', svcID: id, fileColumns: ['paper'] },
        { ...unknown, svcID: id, fileFields: [] },
      )
      expect([all.status, all.json.records.map((record: { http_code: number }) => record.http_code)]).toEqual([
        207,
        [404, 404, 400],
      ])
    }))

  it('refuse a status request of a wrong shape, and name what is wrong', () =>
    served(async (files) => {
      const ask = async (body: unknown) => {
        const { status, json } = await files.ask('POST', '/v2/vaults/v1/files/uploadStatus', { body })
        return [status, json.error.message]
      }
      const failed = 'Upload status failed.'
      expect(await ask({})).toEqual([400, `${failed} records is required.`])
      expect(await ask({ records: [{ svcID: 'x' }] })).toEqual([400, `${failed} records[0].tableName is required.`])
      expect(await ask({ records: [{ tableName: 'people' }] })).toEqual([400, `${failed} records[0].svcID is required.`])
      expect(await ask({ records: [{ tableName: 'people', svcID: 'x', fileColumns: 'paper' }] })).toEqual([
        400,
        `${failed} records[0].fileColumns must be an array.`,
      ])
      const complete = { tableName: 'people', svcID: 'x', fileColumns: ['paper'] }
      for (const fileColumns of [undefined, null, ''])
        expect(await ask({ records: [complete, { ...complete, fileColumns }] })).toEqual([
          400,
          `${failed} records[1].fileColumns is required.`,
        ])
      expect((await ask({ records: [] }))[0]).toBe(400)
      expect(await ask({ vaultID: 'v2', records: [] })).toEqual([
        400,
        `${failed} vaultID of the body must be that of the path, or absent.`,
      ])
    }))

  it('give an URL and its end for each column', () =>
    served(async (files) => {
      const id = await files.person()
      const ask = (body: unknown) => files.ask('POST', '/v2/vaults/v1/files/uploadURL', { body })
      const { status, json } = await ask({ tableName: 'people', svcID: id, fileColumns: ['paper'], columns: ['photo', 'paper'] })
      expect(status).toBe(200)
      expect(Object.keys(json.uploadURLs)).toEqual(['paper', 'photo'])
      const { url, expiresAt } = json.uploadURLs.paper
      expect(url).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:${files.port}/v1/files/v1/[\\w-]+$`))
      expect(Date.parse(expiresAt)).toBe(files.clock.ms + 15 * 60_000)
      const created = await ask({ tableName: 'people', svcID: '', columns: ['paper'] })
      expect(Object.keys(created.json.uploadURLs)).toEqual(['paper'])

      expect((await ask({ tableName: 'people', columns: ['paper', 'photo'] })).status).toBe(400)
      expect((await ask({ tableName: 'people' })).json.error.message).toBe(
        'Upload URL failed. fileColumns must be a non-empty array of column names.',
      )
      expect((await ask({ tableName: 'people', svcID: id, columns: ['name'] })).status).toBe(400)
      expect((await ask({ tableName: 'people', svcID: NO_ID, columns: ['paper'] })).status).toBe(404)
      expect((await ask({ tableName: 'people', svcID: 1, columns: ['paper'] })).json.error.message).toBe(
        'Upload URL failed. svcID must be a string.',
      )
    }))

  it('take and give ids under the names that the host chose', () =>
    served(
      async (files) => {
        const id = await withPaper(files)
        const status = await files.ask('POST', '/v2/vaults/v1/files/uploadStatus', {
          body: { records: [{ tableName: 'people', rid: id, fileColumns: ['paper'] }] },
        })
        expect(status.json.records[0].fields).toMatchObject({ row_id: id, paper: { file_status: 'UPLOADED' } })
        expect((await files.ask('DELETE', `/v1/vaults/v1/people/${id}/files/paper`)).json).toEqual({ row_id: id, deleted: true })
        const url = await files.ask('POST', '/v2/vaults/v1/files/uploadURL', {
          body: { tableName: 'people', rid: id, columns: ['paper', 'photo'] },
        })
        expect(Object.keys(url.json.uploadURLs)).toEqual(['paper', 'photo'])
      },
      { handler: { names: { id: 'row_id', fileId: 'rid' } } },
    ))
})
