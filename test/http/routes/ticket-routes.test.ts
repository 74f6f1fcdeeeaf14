/** Downloads and uploads by ticket, without a bearer. */
import { expect, it } from 'vitest'
import { pngOf, scriptedScanner } from '../../support/files/open-file-vault.ts'
import { type Answer, ask } from '../../support/http/ask.ts'
import { multipart } from '../../support/http/multipart.ts'
import { type ServedFiles, serveFiles } from '../../support/http/serve-files.ts'
import { onEachStorage } from '../../support/storages/engines.ts'

const PAPER = Buffer.alloc(200_000, 'A paper about Ann.\n')

onEachStorage('routes of tickets', (engine) => {
  const served = async (work: (files: ServedFiles) => Promise<void>, options = {}): Promise<void> => {
    const files = await serveFiles(engine, options)
    try {
      await work(files)
    } finally {
      await files.close()
    }
  }
  const withPaper = async ({ person, session }: ServedFiles, fileName = 'paper.txt'): Promise<string> => {
    const id = await person()
    await session.uploadFile({ table: 'people', id, column: 'paper', file: PAPER, fileName })
    return id
  }
  /** Sends a request to an URL without a credential. */
  const toUrl = (url: string, method = 'GET', options = {}): Promise<Answer> => {
    const { port, pathname, search } = new URL(url)
    return ask(Number(port), [method, `${pathname}${search}`], { credential: null, ...options })
  }
  const downloadURL = async (files: ServedFiles, id: string, column = 'paper'): Promise<string> => {
    const { json } = await files.ask('GET', `/v1/vaults/v1/people/${id}?downloadURL=true&redaction=PLAIN_TEXT`)
    return json.fields[column]
  }
  const uploadURL = async (files: ServedFiles, id: string | undefined, column = 'paper'): Promise<string> => {
    const { json } = await files.ask('POST', '/v2/vaults/v1/files/uploadURL', {
      body: { tableName: 'people', svcID: id, fileColumns: [column] },
    })
    return json.uploadURLs[column].url
  }
  /** The body of an answer without what differs in each, which must be a refusal of a ticket. */
  const refusal = (answer: Answer): string => {
    expect([answer.status, answer.json.error.grpc_code]).toEqual([404, 5])
    return answer.text
  }

  it('download a file as an attachment that a browser does not run', () =>
    served(async (files) => {
      const id = await withPaper(files, 'Änn’s "page" \u202Efdp.html')
      const { status, headers, bytes } = await toUrl(await downloadURL(files, id))
      expect(status).toBe(200)
      expect(bytes.equals(PAPER)).toBe(true)
      expect(headers).toMatchObject({
        'content-type': 'text/plain',
        'content-length': String(PAPER.length),
        'content-disposition': `attachment; filename="_nn_s _page_ fdp.html"; filename*=UTF-8''%C3%84nn%E2%80%99s%20%22page%22%20fdp.html`,
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store, no-transform',
        'accept-ranges': 'bytes',
      })
      expect(headers['x-request-id']).toHaveLength(36)
    }))

  it('answer HEAD with the length of the file or of its part, and read nothing of it', () =>
    served(async (files) => {
      const url = await downloadURL(files, await withPaper(files))
      // What is not there is not read.
      files.blobs.stored.clear()
      const whole = await toUrl(url, 'HEAD')
      expect([whole.status, whole.headers['content-length'], whole.bytes.length]).toEqual([200, String(PAPER.length), 0])
      const part = await toUrl(url, 'HEAD', { headers: { range: 'bytes=10-19' } })
      expect([part.status, part.headers['content-length'], part.bytes.length]).toEqual([206, '10', 0])
      expect((await toUrl(`${url}x`, 'HEAD')).status).toBe(404)
    }))

  it('download one range of bytes', () =>
    served(async (files) => {
      const url = await downloadURL(files, await withPaper(files))
      const part = async (range: string) => {
        const { status, headers, bytes } = await toUrl(url, 'GET', { headers: { range } })
        return [status, headers['content-range'], bytes.length, bytes] as const
      }
      const size = PAPER.length
      for (const [range, start, end] of [
        ['bytes=0-0', 0, 1],
        ['bytes=65530-65540', 65_530, 65_541],
        ['bytes=199999-', size - 1, size],
        ['bytes=100-999999', 100, size],
        ['bytes=-7', size - 7, size],
        ['bytes=-999999', 0, size],
      ] as const) {
        const [status, contentRange, length, bytes] = await part(range)
        expect([status, contentRange, length], range).toEqual([206, `bytes ${start}-${end - 1}/${size}`, end - start])
        expect(bytes.equals(PAPER.subarray(start, end)), range).toBe(true)
      }
      for (const whole of ['bytes=0-1,5-6', 'bytes=9-5', 'lines=1-2']) {
        expect((await part(whole)).slice(0, 3), whole).toEqual([200, undefined, size])
      }
      for (const outside of ['bytes=200000-', 'bytes=999999999999999999999-', 'bytes=-0']) {
        expect((await part(outside))[0], outside).toBe(400)
      }
    }))

  it('answer every ticket that is not valid alike', () =>
    served(async (files) => {
      const id = await withPaper(files)
      const url = await downloadURL(files, id)
      const upload = await uploadURL(files, id)
      const altered = `${url.slice(0, -2)}${url.endsWith('AA') ? 'BB' : 'AA'}`
      const refusals = [await toUrl(altered), await toUrl(upload), await toUrl(url.replace('/v1/files/v1/', '/v1/files/v2/'))]
      refusals.push(await toUrl(`${url.slice(0, url.lastIndexOf('/'))}/x`))
      await files.session.uploadFile({ table: 'people', id, column: 'paper', file: PAPER })
      refusals.push(await toUrl(url))
      const replaced = await downloadURL(files, id)
      await files.session.deleteFile('people', id, 'paper')
      refusals.push(await toUrl(replaced))
      expect(new Set(refusals.map(refusal)).size).toBe(1)

      const body = 'content'
      const used = await uploadURL(files, id)
      expect((await toUrl(used, 'PUT', { body })).status).toBe(200)
      const uploads = [await toUrl(used, 'PUT', { body }), await toUrl(await downloadURL(files, id), 'PUT', { body })]
      uploads.push(await toUrl(upload.replace('/v1/files/v1/', '/v1/files/v2/'), 'POST', { body }))
      const late = await downloadURL(files, id)
      files.clock.ms += 15 * 60_000
      expect(refusal(await toUrl(late))).toBe(refusals[0]?.text)
      uploads.push(await toUrl(upload, 'PUT', { body }))
      await files.session.delete('people', [id])
      uploads.push(await toUrl(upload, 'PUT', { body }))
      expect(new Set(uploads.map(refusal)).size).toBe(1)
    }))

  it('upload the body itself, or the one part of a multipart body', () =>
    served(async (files) => {
      const id = await files.person()
      const stored = async (answer: Answer) => {
        expect([answer.status, answer.json.svcID]).toEqual([200, id])
        const { bytes } = await toUrl(await downloadURL(files, id))
        return [answer.json.fileMetadata?.paper.fileName, bytes.equals(PAPER)]
      }
      const send = async (method: string, query: string, options: object) =>
        stored(await toUrl(`${await uploadURL(files, id)}${query}`, method, options))
      const named = '?returnFileMetadata=true&fileName=..%2Fmy%20paper.txt'
      const disposition = 'attachment; filename="paper.pdf"'
      const raw = { body: PAPER, headers: { 'content-disposition': disposition, 'content-type': 'application/json' } }
      expect(await send('PUT', '', { body: PAPER })).toEqual([undefined, true])
      expect(await send('POST', named, raw)).toEqual(['my paper.txt', true])
      expect(await send('PUT', '?returnFileMetadata=true', raw)).toEqual(['paper.pdf', true])
      for (const [given, name] of [
        ['filename="old.txt"; filename*=UTF-8\'\'%E2%82%AC%20rates.txt', '€ rates.txt'],
        [`filename="${Buffer.from('räksmörgås.txt').toString('latin1')}"`, 'räksmörgås.txt'],
        ['filename="5%22 disk.txt"', '5%22 disk.txt'],
      ]) {
        const headers = { 'content-disposition': `attachment; ${given}` }
        expect(await send('PUT', '?returnFileMetadata=true', { body: PAPER, headers })).toEqual([name, true])
      }
      const form = multipart({ key: 'any', content: PAPER, fileName: 'form.txt' })
      expect(await send('POST', '?returnFileMetadata=true', form)).toEqual(['form.txt', true])
      expect(await send('PUT', named, form)).toEqual(['my paper.txt', true])
      const { json } = await toUrl(await uploadURL(files, undefined), 'POST', { body: PAPER })
      expect((await files.session.getOne('people', json.svcID)).id).toBe(json.svcID)
    }))

  it('say what is wrong with a content, and keep nothing of it', () =>
    served(async (files) => {
      const id = await files.person()
      const paper = await uploadURL(files, id)
      const photo = await uploadURL(files, id, 'photo')
      const part = { key: 'file', content: PAPER }
      for (const [title, answer, status, code] of [
        ['no body', await toUrl(paper, 'PUT'), 422, 9],
        ['an empty body', await toUrl(paper, 'POST', { body: '' }), 422, 9],
        ['a type that is not allowed', await toUrl(photo, 'PUT', { body: PAPER }), 422, 9],
        ['a long file', await toUrl(paper, 'PUT', { body: Buffer.alloc(400_001) }), 400, 8],
        ['two parts', await toUrl(paper, 'POST', multipart(part, part)), 400, 3],
        ['no part', await toUrl(paper, 'POST', multipart()), 400, 3],
        ['a wrong flag', await toUrl(`${paper}?returnFileMetadata=yes`, 'PUT', { body: PAPER }), 400, 3],
        ['an encoded body', await toUrl(paper, 'PUT', { body: PAPER, headers: { 'content-encoding': 'gzip' } }), 400, 3],
        ['a wrong method', await toUrl(paper, 'DELETE'), 400, 12],
      ] as const) {
        expect([answer.status, answer.json.error.grpc_code], title).toEqual([status, code])
      }
      expect(await files.fileRows()).toBe(0)
      expect(files.blobs.keys()).toEqual([])
      expect((await toUrl(photo, 'PUT', { body: pngOf(10) })).status).toBe(200)
      expect((await toUrl(paper, 'PUT', { body: PAPER })).status).toBe(200)
    }))

  it('give no URL for a file that is not clean', () => {
    let begin = (): void => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const verdictOf = (content: Buffer) =>
      begun.then(() => (content.includes('virus') ? ('infected' as const) : ('clean' as const)))
    return served(
      async (files) => {
        const clean = await withPaper(files)
        const { id: infected } = await files.session.uploadFile({
          table: 'people',
          column: 'paper',
          file: Buffer.from('A virus.'),
        })
        expect(await downloadURL(files, clean)).not.toMatch(/^http/)
        begin()
        await files.vault.scanFiles()
        expect(await downloadURL(files, infected)).not.toMatch(/^http/)
        expect((await toUrl(await downloadURL(files, clean))).bytes.equals(PAPER)).toBe(true)
      },
      { scanner: scriptedScanner(verdictOf) },
    )
  })

  it('are recorded with the request that uses them, as the caller who asked for them', () =>
    served(async (files) => {
      const id = await files.person()
      const uploaded = await toUrl(await uploadURL(files, id), 'PUT', { body: PAPER })
      const downloaded = await toUrl(await downloadURL(files, id))
      const refused = await toUrl((await downloadURL(files, id)).slice(0, -3))
      for (const [actionType, answer, actor] of [
        ['UPLOAD_FILE', uploaded, 'owner@acme.example'],
        ['OPEN_FILE', downloaded, 'owner@acme.example'],
        ['OPEN_FILE', refused, 'unknown'],
      ] as const) {
        const { events } = await files.session.listEvents({ filterOps: { accountID: 'v1', actionType } })
        const event = events.find(({ context }) => context.requestID === answer.headers['x-request-id'])
        expect([event?.context.actor, event?.context.ipAddress], actionType).toEqual([actor, '127.0.0.1'])
      }
    }))

  it('are URLs under the base of the handler', () =>
    served(
      async (files) => {
        const { json } = await files.ask('POST', '/vault/v2/vaults/v1/files/uploadURL', {
          body: { tableName: 'people', columns: ['paper'] },
        })
        expect(json.uploadURLs.paper.url).toMatch(/^https:\/\/api\.acme\.example\/vault\/v1\/files\/v1\/[\w-]+$/)
        const path = new URL(json.uploadURLs.paper.url).pathname
        expect((await files.ask('PUT', path, { body: PAPER, credential: null })).status).toBe(200)
      },
      { handler: { baseUrl: 'https://api.acme.example/vault' } },
    ))
})
