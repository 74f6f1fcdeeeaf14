/** Multipart bodies: fields in any order, one file, hostile names, and everything that is refused. */
import { describe, expect, it } from 'vitest'
import { type MultipartShape, readMultipart } from '../../../src/http/body/read-multipart.ts'
import type { HttpRequest } from '../../../src/http/router/http-message.ts'
import { VaultError } from '../../../src/index.ts'
import { BOUNDARY, bodyOf, field, file, type GivenPart, MULTIPART, multipartRequest, UPLOAD } from './multipart-bodies.ts'
import { cut, refusalOf, requestOf, utf8 } from './requests.ts'

const TEST_SECRET = 'TEST_SECRET_9c1d'
const TABLE = field('tableName', 'persons')
const COLUMN = field('columnName', 'passport')
const ID = field('svcID', '6b7e')

/** Reads a body whole. */
async function readWhole(request: HttpRequest, shape: MultipartShape = UPLOAD) {
  const upload = await readMultipart(request, shape)
  const before = Object.fromEntries(upload.fields)
  const content: Uint8Array[] = []
  for await (const piece of upload.content) content.push(piece)
  const { key, fileName } = upload
  return { key, fileName, before, fields: Object.fromEntries(upload.fields), content: Buffer.concat(content).toString() }
}

function refused(body: readonly GivenPart[] | Uint8Array, shape: MultipartShape = UPLOAD) {
  return refusalOf(() => readWhole(multipartRequest(body), shape))
}

describe('the order of parts', () => {
  const fields = { tableName: 'persons', columnName: 'passport', svcID: '6b7e' }

  it('gives all fields in front of the file', async () => {
    expect(await readWhole(multipartRequest([ID, TABLE, COLUMN, file('content')]))).toEqual({
      key: 'file',
      fileName: 'report.pdf',
      before: fields,
      fields,
      content: 'content',
    })
  })

  it('gives an optional field behind the file after the content', async () => {
    const { before, fields: after, content } = await readWhole(multipartRequest([TABLE, COLUMN, file('content'), ID]))
    expect(before).toEqual({ tableName: 'persons', columnName: 'passport' })
    expect(after).toEqual(fields)
    expect(content).toBe('content')
  })

  it('holds a file up to 1 MiB for required fields behind it', async () => {
    const content = 'x'.repeat(1_048_576)
    const read = await readWhole(multipartRequest([file(content), TABLE, COLUMN, ID]))
    expect(read.before).toEqual({ tableName: 'persons', columnName: 'passport' })
    expect(read.fields).toEqual(fields)
    expect(read.content === content).toBe(true)
    expect(await refused([file(`${content}x`), TABLE, COLUMN])).toEqual({
      code: 'invalid_request',
      message: 'The file is longer than 1 MiB. Put the parts tableName and columnName before it.',
    })
  })

  it('leaves missing fields to the caller', async () => {
    expect(await readWhole(multipartRequest([file('content'), TABLE]))).toMatchObject({
      before: { tableName: 'persons' },
      content: 'content',
    })
  })
})

describe('a file', () => {
  it('can be the one part, under any key', async () => {
    expect(await readWhole(multipartRequest([{ key: 'passport', content: 'c', fileName: 'a.pdf' }]), {})).toEqual({
      key: 'passport',
      fileName: 'a.pdf',
      before: {},
      fields: {},
      content: 'c',
    })
  })

  it('can be text without a file name', async () => {
    expect(await readWhole(multipartRequest([TABLE, COLUMN, field('file', 'text')]))).toMatchObject({
      fileName: undefined,
      content: 'text',
    })
  })

  it('can be empty', async () => {
    expect(await readWhole(multipartRequest([TABLE, COLUMN, file('')]))).toMatchObject({ content: '' })
    expect(await readWhole(multipartRequest([file(''), TABLE, COLUMN]))).toMatchObject({ content: '' })
  })

  it.each([
    '\r\n',
    '\r\n--',
    `\r\n--${BOUNDARY.slice(0, -1)}`,
    `\n--${BOUNDARY}\n`,
    `\r\r\n--${BOUNDARY.slice(0, 5)}\r\n`,
    '\r\n\r\n',
    '\0',
  ])('can hold %j', async (content) => {
    for (const whole of [content, `${content}x`, `x${content}`]) {
      expect(await readWhole(multipartRequest([TABLE, COLUMN, file(whole), ID]))).toMatchObject({ content: whole })
    }
  })
})

describe('file names', () => {
  const name = (text: string): string => `Content-Disposition: form-data; name="file"; ${text}`
  it.each([
    ['filename="a.pdf"', 'a.pdf'],
    ['filename=a.pdf', 'a.pdf'],
    ['filename=a b.pdf', 'a b.pdf'],
    ['filename=""', ''],
    ['filename="../../etc/passwd"', '../../etc/passwd'],
    ['filename="C:\\Users\\a\\b.pdf"', 'C:\\Users\\a\\b.pdf'],
    ['filename="a\\"b\\\\c.pdf"', 'a"b\\c.pdf'],
    ['filename="a;b=c.pdf"', 'a;b=c.pdf'],
    ['filename="a%22b%0D%0A.pdf"', 'a"b\r\n.pdf'],
    ['filename="5%22 disk 100%.txt"', '5" disk 100%.txt'],
    ['filename="a%25%2f%0d.txt"', 'a%25%2f%0d.txt'],
    ['filename="dir\\"', 'dir\\'],
    ['filename="C:\\dir\\"; x=1', 'C:\\dir\\'],
    ['filename="Ünïcödé \u202efdp.exe"', 'Ünïcödé \u202efdp.exe'],
    ['filename="€😀.pdf"', '€😀.pdf'],
    [`filename="${'x'.repeat(10_000)}"`, 'x'.repeat(10_000)],
    ["filename*=UTF-8''%e2%82%ac%20rates.pdf", '€ rates.pdf'],
    ['filename="old.pdf"; filename*=utf-8\'en\'new.pdf', 'new.pdf'],
    ["filename*=utf-8''%ff; filename=old.pdf", 'old.pdf'],
    ["filename*=iso-8859-1''%a3; filename=old.pdf", 'old.pdf'],
    ['FileName="a.pdf"', 'a.pdf'],
    ['filename="a\0b"', 'a\0b'],
    ['filename="a"b.pdf"', 'a'],
    ['x=1;; filename="a.pdf" ;', 'a.pdf'],
  ])('%s is taken as it is', async (text, fileName) => {
    const parts = [TABLE, COLUMN, { header: name(text), content: 'c' }]
    expect(await readWhole(multipartRequest(parts))).toMatchObject({ fileName, content: 'c' })
  })

  it('in Latin-1 are read too', async () => {
    const [before, after] = ['Content-Disposition: form-data; name="file"; filename="caf', '.pdf"\r\n\r\nc\r\n']
    const body = Buffer.concat([
      bodyOf([TABLE, COLUMN]).subarray(0, -4 - BOUNDARY.length - 2),
      utf8(`--${BOUNDARY}\r\n${before}`),
      Uint8Array.of(0xe9),
      utf8(`${after}--${BOUNDARY}--`),
    ])
    expect(await readWhole(multipartRequest(body))).toMatchObject({ fileName: 'café.pdf' })
  })
})

const whole = bodyOf([TABLE, COLUMN, file('content'), ID])

describe('a body that is not multipart', () => {
  it.each([
    {},
    { 'content-type': 'application/json' },
    { 'content-type': 'multipart/mixed; boundary=b' },
    { 'content-type': 'multipart/form-data' },
    { 'content-type': 'multipart/form-data; boundary=' },
    { 'content-type': 'multipart/form-data; boundary=""' },
    { 'content-type': `multipart/form-data; boundary=${'b'.repeat(71)}` },
    { 'content-type': 'multipart/form-data; boundary="b' },
    { 'content-type': `${MULTIPART['content-type']}; boundary=other` },
    { ...MULTIPART, 'content-encoding': 'gzip' },
  ])('is refused: %j', async (headers) => {
    expect(await refusalOf(() => readWhole(requestOf({ headers, body: whole })))).toMatchObject({ code: 'invalid_request' })
  })

  it('is refused without a body', async () => {
    expect(await refusalOf(() => readWhole(requestOf({ headers: MULTIPART })))).toMatchObject({ code: 'invalid_request' })
  })
})

describe('a malformed body', () => {
  const disposition = 'Content-Disposition: form-data; name="tableName"'
  const header = (text: string): GivenPart => ({ header: text, content: TEST_SECRET })
  it.each<readonly [string, readonly GivenPart[] | Uint8Array, string]>([
    ['is empty', utf8(''), 'ends before its last boundary'],
    ['has no boundary', utf8(TEST_SECRET), 'ends before its last boundary'],
    ['has no part', utf8(`--${BOUNDARY}--\r\n`), 'has no file'],
    ['has no file', [TABLE, COLUMN], 'has no file'],
    ['has two files', [TABLE, COLUMN, file('a'), file('b')], 'has more than one file. Send one.'],
    ['has an unknown part', [TABLE, field(TEST_SECRET, TEST_SECRET), file('a')], 'has an unknown part. Send only tableName,'],
    ['has an unknown part behind the file', [TABLE, COLUMN, file('a'), field('__proto__', '')], 'has an unknown part'],
    ['has a field twice', [TABLE, field('tableName', TEST_SECRET), file('a')], 'has the part tableName twice.'],
    ['has a part without a header', [header('')], 'A part of the multipart body has no valid Content-Disposition'],
    ['has a part without a disposition', [header('Content-Type: text/plain')], 'no valid Content-Disposition'],
    [
      'has a part that is not of a form',
      [header('Content-Disposition: attachment; name="file"')],
      'no valid Content-Disposition',
    ],
    ['has a part without a name', [header('Content-Disposition: form-data')], 'no valid Content-Disposition'],
    ['has a part with two names', [header(`${disposition}; name="file"`)], 'no valid Content-Disposition'],
    ['has a part with two dispositions', [header(`${disposition}\r\n${disposition}`)], 'no valid Content-Disposition'],
    ['has a name that does not end', [header('Content-Disposition: form-data; name="file')], 'no valid Content-Disposition'],
    ['has a line break in a name', [header('Content-Disposition: form-data; name="fi\nle"')], 'no valid Content-Disposition'],
    ['has text behind a boundary', utf8(`--${BOUNDARY}${TEST_SECRET}\r\n${disposition}\r\n\r\n\r\n--${BOUNDARY}--`), 'no valid'],
    ['ends within a header', utf8(`--${BOUNDARY}\r\n${disposition}\r\n--${BOUNDARY}--`), 'ends within its header'],
    ['has a header cut by a boundary', utf8(`--${BOUNDARY}\r\nA\r\n--${BOUNDARY}\r\n${disposition}\r\n\r\n`), 'multipart body'],
    ['has a field that is not UTF-8', [field('tableName', Uint8Array.of(0xff)), file('a')], 'is not valid UTF-8'],
  ])('%s', async (_, body, text) => {
    const { code, message } = await refused(body)
    expect(code).toBe('invalid_request')
    expect(message).toContain(text)
    expect(message).not.toContain('TEST')
  })

  it('has a second part where the file is the one part', async () => {
    const parts = [
      { key: 'passport', content: 'c' },
      { key: 'other', content: 'd' },
    ]
    expect(await refused(parts, {})).toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('more than one file'),
    })
  })

  it.each([
    ['and a header', `\r\n${disposition}\r\n\r\n`],
    ['and a delimiter', `\r\n--${BOUNDARY}-\r\n`],
    ['and another byte', TEST_SECRET],
  ])('has one dash behind a boundary %s, in pieces of any length', async (_, text) => {
    const body = Buffer.from(`--${BOUNDARY}\r\n${disposition}\r\n\r\nx\r\n--${BOUNDARY}-${text}\r\n--${BOUNDARY}--\r\n`)
    for (let length = 1; length <= body.length; length++) {
      expect(await refusalOf(() => readWhole(multipartRequest(cut(body, length)))), `pieces of ${length}`).toEqual({
        code: 'invalid_request',
        message: 'A delimiter of the multipart body has one dash behind its boundary. Send none, or two after the last part.',
      })
    }
  })

  it('is cut at any byte, and its content never ends as if it were whole', async () => {
    const end = whole.length - 4 // Without the dashes and the line break behind the last boundary.
    for (let length = 0; length <= end + 1; length++) {
      for (const piece of [1, 1000]) {
        const request = multipartRequest(cut(whole.subarray(0, length), piece))
        expect(await refusalOf(() => readWhole(request)), `${length} bytes`).toMatchObject({ code: 'invalid_request' })
      }
    }
    expect(await readWhole(multipartRequest(whole.subarray(0, end + 2)))).toMatchObject({ content: 'content' })
  })
})

describe('limits', () => {
  const many = (count: number): GivenPart[] => Array.from({ length: count - 1 }, (_, index) => field(`f${index}`, ''))
  it('allow 10 parts', async () => {
    const fields = many(11).map(({ key }) => key ?? '')
    expect(await readWhole(multipartRequest([...many(10), file('c')]), { file: 'file', fields })).toMatchObject({ content: 'c' })
    expect(await refused([...many(11), file('c')], { file: 'file', fields })).toEqual({
      code: 'limit_exceeded',
      message: 'The multipart body has more than 10 parts.',
    })
  })

  it('allow a field of 64 KiB', async () => {
    const long = 'x'.repeat(65_536)
    expect((await readWhole(multipartRequest([field('tableName', long), COLUMN, file('c')]))).fields.tableName).toHaveLength(
      65_536,
    )
    expect(await refused([field('tableName', `${long}x`), COLUMN, file('c')])).toMatchObject({ code: 'limit_exceeded' })
  })

  it('allow a header of 16 KiB', async () => {
    const named = (length: number): GivenPart[] => [TABLE, COLUMN, file('c', 'x'.repeat(length))]
    expect((await readWhole(multipartRequest(named(16_200)))).fileName).toHaveLength(16_200)
    for (const length of [16_385, 33_000, 60_000]) {
      expect((await refused(named(length))).code, `${length}`).toBe('limit_exceeded')
    }
    const lines = (count: number): GivenPart => ({
      header: `Content-Disposition: form-data; name="tableName"${'\r\nA: b'.repeat(count)}`,
      content: 'persons',
    })
    expect((await readWhole(multipartRequest([lines(60), COLUMN, file('c')]))).fields.tableName).toBe('persons')
    expect((await refused([lines(64), COLUMN, file('c')])).code).toBe('limit_exceeded')
  })

  it.each([
    ['in front of the first part', utf8('')],
    ['in a header', utf8(`--${BOUNDARY}\r\nA: `)],
    ['behind the last part', whole],
  ])('end a body that goes on for ever %s', async (_, beginning) => {
    let sent = 0
    const endless = (async function* () {
      yield beginning
      for (;;) {
        sent++
        yield new Uint8Array(1024).fill(0x41)
      }
    })()
    expect((await refusalOf(() => readWhole(multipartRequest(endless)))).code).toBe('limit_exceeded')
    expect(sent).toBeLessThan(70)
  })
})

/** A body that is sent piece by piece, and what became of it. */
function sentBody(pieces: readonly (Uint8Array | Error)[]) {
  const state = { sent: 0, isClosed: false }
  const chunks = (async function* () {
    try {
      for (const piece of pieces) {
        if (piece instanceof Error) throw piece
        state.sent++
        yield piece
      }
    } finally {
      state.isClosed = true
    }
  })()
  return { state, request: multipartRequest(chunks) }
}

/** The beginning of an upload, up to the first byte of its content. */
const BEGINNING = bodyOf([TABLE, COLUMN, file('c')]).subarray(0, -(BOUNDARY.length + 8))

describe('a reader', () => {
  const pieces = Array.from({ length: 100 }, () => new Uint8Array(1000).fill(0x61))

  it('that is slow gets no more than it asked for', async () => {
    const { state, request } = sentBody([BEGINNING, ...pieces])
    const upload = await readMultipart(request, UPLOAD)
    expect(state.sent).toBe(1)
    const content = upload.content[Symbol.asyncIterator]()
    for (const asked of [1, 2, 3]) {
      await content.next()
      expect(state.sent).toBeLessThanOrEqual(asked + 2)
    }
    upload.close()
  })

  it('that leaves closes the body, and reads no more of it', async () => {
    const { state, request } = sentBody([BEGINNING, ...pieces])
    const upload = await readMultipart(request, UPLOAD)
    for await (const _ of upload.content) break
    await new Promise(setImmediate)
    expect(state.isClosed).toBe(true)
    expect(state.sent).toBeLessThan(5)
  })

  it('that never begins closes the body by close, also twice', async () => {
    const { state, request } = sentBody([BEGINNING, ...pieces])
    const upload = await readMultipart(request, UPLOAD)
    upload.close()
    upload.close()
    await new Promise(setImmediate)
    expect(state.isClosed).toBe(true)
    for await (const _ of upload.content) throw new Error('There is content after close.')
  })

  it('that meets a refusal has a closed body', async () => {
    const { state, request } = sentBody([bodyOf([field('other', '')]), ...pieces])
    expect(await refusalOf(() => readMultipart(request, UPLOAD))).toMatchObject({ code: 'invalid_request' })
    await new Promise(setImmediate)
    expect(state).toEqual({ sent: 1, isClosed: true })
  })

  it('does not wait for a client that stops in the middle', async () => {
    let goOn = (): void => {}
    const stalled = (async function* () {
      yield BEGINNING
      await new Promise<void>((resolve) => {
        goOn = resolve
      })
      throw new VaultError('cancelled', 'The client went away.')
    })()
    const upload = await readMultipart(multipartRequest(stalled), UPLOAD)
    const content = upload.content[Symbol.asyncIterator]()
    await content.next()
    const waiting = refusalOf(() => content.next())
    await new Promise(setImmediate)
    upload.close() // Returns, although a read is waiting.
    goOn()
    expect(await waiting).toMatchObject({ code: 'cancelled' })
  })
})

describe('a client that goes away', () => {
  const gone = new VaultError('cancelled', 'The client went away.')
  const content = new Uint8Array(10).fill(0x61)
  it.each([
    ['before the first byte', [gone]],
    ['within a field', [BEGINNING.subarray(0, 150), gone]],
    ['within a header', [BEGINNING.subarray(0, 30), gone]],
    ['within the content', [BEGINNING, content, gone]],
    ['behind the content', [BEGINNING, content, utf8(`\r\n--${BOUNDARY}\r\n`), gone]],
    ['behind the last boundary', [BEGINNING, content, utf8(`\r\n--${BOUNDARY}--`), gone]],
    ['while the file is held', [bodyOf([file('held')]).subarray(0, -4), gone]],
  ])('%s cancels the read', async (_, sent) => {
    const { state, request } = sentBody(sent)
    expect(await refusalOf(() => readWhole(request))).toEqual({ code: 'cancelled', message: 'The client went away.' })
    await new Promise(setImmediate)
    expect(state.isClosed).toBe(true)
  })
})
