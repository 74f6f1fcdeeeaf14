/** One list of calls of a session, for a session in process and for one over HTTP: what each returns or throws, without what differs between two vaults. */
import { column, defineSchema, isVaultError, mask, type Session, sql } from '../../../src/index.ts'

/** One column of each kind that travels in its own way. */
export const calledSchema = defineSchema({
  people: {
    name: column.string({ required: true, redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
    email: column.string({ unique: true, redaction: 'PLAIN_TEXT', token: 'deterministic' }),
    big: column.integer({ redaction: 'PLAIN_TEXT' }),
    at: column.datetime({ redaction: 'PLAIN_TEXT' }),
    born: column.date({ redaction: 'PLAIN_TEXT' }),
    notes: column.json({ redaction: 'PLAIN_TEXT' }),
    country: column.string({ encrypted: false, index: true, redaction: 'PLAIN_TEXT', oneOf: ['SE', 'DE'] }),
    score: column.float({ redaction: 'PLAIN_TEXT' }),
    pin: column.string({ token: 'transient' }),
    scan: column.file({ redaction: 'PLAIN_TEXT', allowedTypes: ['image/png', 'application/octet-stream', 'text/plain'] }),
  },
})

/** Rules of the clerk, who sees names masked. */
export const CALLED_POLICY = { clerk: ['ALLOW READ ON people.* WITH REDACTION = MASKED'] }

export type CalledSession = Session<(typeof calledSchema)['tables']>

/** What a call returned or threw. */
export type Ended = readonly [call: string, result: unknown]

const UNKNOWN = '5a4bc4ef-11f5-4c08-9887-d943d109abf6'
const CONTENT = new TextEncoder().encode('line of a file\n'.repeat(9000))

/** Runs the calls, and returns how each ended. */
export async function runCalls(s: CalledSession, clerk: CalledSession): Promise<readonly Ended[]> {
  const ended: Ended[] = []
  const outline = createOutline()
  async function note<T>(call: string, run: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await run()
      ended.push([call, outline(result)])
      return result
    } catch (error) {
      ended.push([call, outline(error)])
      return undefined
    }
  }
  const ann = { name: 'Ann Bell', email: 'a@b.se', country: 'SE', score: 1.5 } as const
  const inserted = await s.insert(
    'people',
    [
      {
        fields: {
          ...ann,
          big: 9007199254740993n,
          at: new Date('2020-01-01T00:00:00Z'),
          born: '1990-02-03',
          notes: { a: [1, null] },
        },
      },
      { fields: { name: 'Bo', email: 'b@b.se', country: 'DE', pin: '1234' } },
    ],
    { tokenization: true },
  )
  ended.push(['insert', outline(inserted)])
  const [a, b] = inserted.records
  if (a === undefined || b === undefined) throw new Error('two records were inserted')
  const own = { token: a.tokens.name ?? '' }

  await note('insertOne', () => s.insertOne('people', { name: 'Åke “Ö” 漢字 \u{1f600}' }, { tokenization: true }))
  await note('insertOne with a token', () =>
    s.insertOne('people', { name: 'Eva' }, { tokens: { name: 'own-token-1' }, byot: 'ENABLE', tokenization: true }),
  )
  await note('insert that ignores', () =>
    s.insert('people', [{ fields: { name: 'Cy', email: 'a@b.se' } }], { onConflict: 'ignore' }),
  )
  await note('upsert', () =>
    s.insert('people', [{ fields: { name: 'Cy', email: 'a@b.se' } }], { upsert: 'email', tokenization: true }),
  )
  await note('insert of a taken value', () => s.insert('people', [{ fields: { name: 'Cy', email: 'a@b.se' } }]))
  await note('insert of a wrong value', () => s.insert('people', [{ fields: { name: 3 as never } }]))
  await note('insert without a required column', () => s.insert('people', [{ fields: {} as never }]))
  await note('insert into no table', () => s.insert('unknown' as never, [{ fields: {} as never }]))
  await note('insert of no list', () => s.insert('people', 5 as never))
  await note('insert with an unknown option', () => s.insert('people', [{ fields: { name: 'x' } }], { tokenize: true } as never))
  await note('getOne', () => s.getOne('people', a.id))
  await note('getOne in plain text', () => s.getOne('people', a.id, { redaction: 'PLAIN_TEXT', onLowered: 'throw' }))
  await note('getOne of tokens', () => s.getOne('people', a.id, { tokenization: true }))
  await note('getOne with a version', () => s.getOne('people', a.id, { version: true, fields: ['big', 'at', 'born', 'notes'] }))
  await note('getOne by the clerk', () => clerk.getOne('people', a.id))
  await note('getOne by the clerk, who wants values', () =>
    clerk.getOne('people', a.id, { onLowered: 'throw', redaction: 'PLAIN_TEXT' }),
  )
  await note('getOne of an unknown id', () => s.getOne('people', UNKNOWN))
  await note('getOne of no id', () => s.getOne('people', 'unknown'))
  await note('get by ids', () => s.get('people', { ids: [b.id, a.id] }))
  await note('get by a column', () => s.get('people', { where: { email: ['b@b.se', 'a@b.se'] } }))
  await note('get by ranges', () =>
    s.get('people', {
      where: { big: { from: 9007199254740992n }, at: { to: new Date('2020-01-01T00:00:00Z') }, name: { prefix: 'A' } },
      orderBy: { column: 'born', order: 'DESCENDING' },
    }),
  )
  await note('get by null, in the order of a column', () => s.get('people', { where: { big: null }, orderBy: 'score' }))
  await note('get by a range of nothing', () => s.get('people', { where: { big: { from: null } } as never }))
  await note('pages in the order of a column', async () => {
    const pages: unknown[] = []
    for await (const { records } of s.pages('people', { orderBy: 'email', limit: 1 })) pages.push(records)
    return pages
  })
  await note('get by an unknown column', () => s.get('people', { where: { emial: 'b@b.se' } as never }))
  await note('get of a large page', () => s.get('people', { limit: 100 }))
  await note('get of too large a page', () => s.get('people', { limit: 100_000 }))
  await note('get by cursors', async () => {
    const first = await s.get('people', { limit: 2, resumable: true })
    const second = await s.get('people', { limit: 2, after: first.next, resumable: true })
    return [first, second]
  })
  await note('get after a cursor of nothing', () => s.get('people', { after: 'nothing' }))
  await note('pages', async () => {
    const lengths: number[] = []
    for await (const { records } of s.pages('people', { limit: 1, offset: 1 })) lengths.push(records.length)
    return lengths
  })
  await note('pages that end at once', async () => {
    for await (const { records } of s.pages('people', { limit: 3 })) return records.length
    return 0
  })
  await note('updateOne', () => s.updateOne('people', a.id, { big: 7 }, { tokenization: true }))
  await note('updateOne by the clerk', () => clerk.updateOne('people', a.id, { big: 7 }))
  await note('updateOne with what is shown', () => s.updateOne('people', a.id, { name: '*REDACTED*' }))
  await note('updateOne of an older version', async () => {
    const { version } = await s.getOne('people', b.id, { version: true })
    await s.updateOne('people', b.id, { score: 2 }, { ifVersion: version })
    return s.updateOne('people', b.id, { score: 3 }, { ifVersion: version })
  })
  await note('update', () =>
    s.update('people', [
      { id: a.id, fields: { score: 2 } },
      { id: b.id, fields: { score: 3 } },
    ]),
  )
  await note('update of an unknown id', () => s.update('people', [{ id: UNKNOWN, fields: { score: 2 } }]))
  await note('updateWhere', () => s.updateWhere('people', { country: 'SE' }, { score: 4 }))
  await note('detokenize', () => s.detokenize([own, { token: a.tokens.email ?? '', redaction: 'PLAIN_TEXT' }]))
  await note('detokenize of some', () => s.detokenize([own, { token: 'nope' }], { continueOnError: true }))
  await note('detokenize of none', () => s.detokenize([{ token: 'nope' }, { token: 'none' }]))
  await note('detokenize by the clerk, who wants values', () =>
    clerk.detokenize([{ ...own, redaction: 'PLAIN_TEXT' }], { onLowered: 'throw' }),
  )
  await note('tokenize', () => s.tokenize([{ value: 'b@b.se', table: 'people', column: 'email' }]))
  await note('tokenize of no value', () => s.tokenize([{ value: 'x@b.se', table: 'people', column: 'email' }]))
  await note('getByTokens', () => s.getByTokens([b.tokens.email ?? '', 'nope'], { version: true }))
  await note('query', () => s.query("SELECT name, email FROM people WHERE email = 'b@b.se'"))
  await note('query with values', () => s.query('SELECT name, score FROM people WHERE country = $1 AND score > $2', ['DE', 1]))
  await note('query made by sql', () => s.query(sql`SELECT COUNT(*) FROM people WHERE country = ${'DE'}`))
  await note('query of what looks as if sql made it', () => s.query({ text: 'SELECT name FROM people', values: [] } as never))
  await note('query that is wrong', () => s.query('SELECT name FROM people WHER'))
  await note('query of another language', () => s.query('DELETE FROM people'))
  await note('query by the clerk', () => clerk.query("SELECT name FROM people WHERE email = 'a@b.se'"))
  await note('batch', () =>
    s.batch([
      { insert: 'people', fields: { name: 'Di', email: 'd@b.se' }, tokenization: true },
      { get: 'people', id: { response: 0 }, redaction: 'PLAIN_TEXT' },
      { update: 'people', id: b.id, fields: { score: 9 } },
    ]),
  )
  await note('batch that goes on', () =>
    s.batch(
      [
        { get: 'people', id: UNKNOWN },
        { insert: 'people', fields: { name: 'Ed', email: 'd@b.se' } },
        { update: 'people', id: b.id, fields: { score: 8 } },
      ],
      { continueOnError: true },
    ),
  )
  await note('batch that fails', () => s.batch([{ get: 'people', id: UNKNOWN }]))
  await note('listEvents', async () => {
    const { events } = await s.listEvents({ filterOps: { accountID: 'v1' }, limit: 3 })
    return events.map(({ request }) => request)
  })
  await note('listEvents by the clerk', () => clerk.listEvents({ filterOps: { accountID: 'v1' } }))
  await note('uploadFile', () =>
    s.uploadFile({ table: 'people', id: b.id, column: 'scan', file: CONTENT, fileName: 'å “1”.txt', returnFileMetadata: true }),
  )
  await note('uploadFile of a File', () =>
    s.uploadFile({
      table: 'people',
      id: a.id,
      column: 'scan',
      file: new File(['a file'], 'own name.txt'),
      returnFileMetadata: true,
    }),
  )
  await note('uploadFile of a stream', () =>
    s.uploadFile({ table: 'people', id: a.id, column: 'scan', file: streamOf('a stream'), returnFileMetadata: true }),
  )
  await note('uploadFile of nothing', () => s.uploadFile({ table: 'people', id: a.id, column: 'scan', file: new Uint8Array() }))
  await note('uploadFile of no bytes', () => s.uploadFile({ table: 'people', id: a.id, column: 'scan', file: 'text' as never }))
  await note('uploadFile to an unknown id', () => s.uploadFile({ table: 'people', id: UNKNOWN, column: 'scan', file: CONTENT }))
  await note('uploadFile to another column', () =>
    s.uploadFile({ table: 'people', id: a.id, column: 'name' as never, file: CONTENT }),
  )
  await note('openFile', () => opened(s.openFile('people', b.id, 'scan')))
  await note('openFile of a range', () => opened(s.openFile('people', b.id, 'scan', { range: { start: 5, end: 25 } })))
  await note('openFile from an offset', () => opened(s.openFile('people', b.id, 'scan', { range: { start: 134_990 } })))
  await note('openFile of the end', () => opened(s.openFile('people', b.id, 'scan', { range: { last: 5 } })))
  await note('openFile beyond the end', () => opened(s.openFile('people', b.id, 'scan', { range: { start: 200_000 } })))
  await note('openFile of an impossible range', () => opened(s.openFile('people', b.id, 'scan', { range: { start: 5, end: 3 } })))
  await note('openFile before the start', () => opened(s.openFile('people', b.id, 'scan', { range: { start: -1 } })))
  await note('openFile by the clerk', () => opened(clerk.openFile('people', b.id, 'scan')))
  await note('fileStatus', () => s.fileStatus('people', b.id, 'scan'))
  await note('fileStatuses', () =>
    s.fileStatuses([
      { table: 'people', id: b.id, fileColumns: ['scan'] },
      { table: 'people', id: UNKNOWN, fileColumns: ['scan'] },
    ]),
  )
  await note('get with files', () => s.get('people', { ids: [b.id], returnFileMetadata: true, downloadTickets: true }))
  await note('uploadTicket', () => s.uploadTicket({ table: 'people', id: a.id, columns: ['scan'] }))
  await note('downloadTicket', () => s.downloadTicket('people', b.id, 'scan'))
  await note('deleteFile', () => s.deleteFile('people', b.id, 'scan'))
  await note('deleteFile again', () => s.deleteFile('people', b.id, 'scan'))
  await note('createCredential', () =>
    s.createCredential({ kind: 'API_KEY', name: 'k', roles: ['VAULT_VIEWER'], verifier: 'ab'.repeat(32), keyId: UNKNOWN }),
  )
  await note('createCredential again', () =>
    s.createCredential({ kind: 'API_KEY', name: 'k', roles: ['VAULT_VIEWER'], verifier: 'ab'.repeat(32), keyId: UNKNOWN }),
  )
  await note('createCredential by the clerk', () =>
    clerk.createCredential({ kind: 'API_KEY', name: 'k', roles: ['VAULT_VIEWER'], verifier: 'ab'.repeat(32) }),
  )
  // The application itself authenticates who calls in process.
  await note('describeCaller', async () => ({ ...(await s.describeCaller()), authMode: undefined }))
  await note('describeSchema', () => clerk.describeSchema())
  await note('explainQuery', () => clerk.explainQuery(sql`SELECT name FROM people WHERE country = ${'SE'}`))
  await note('explainQuery with values', () => clerk.explainQuery('SELECT nothing FROM people WHERE country = $1', ['SE']))
  await note('listCredentials', () => s.listCredentials({ limit: 5 }))
  await note('revokeCredential', () => s.revokeCredential({ keyId: UNKNOWN }))
  await note('revokeCredential of none', () => s.revokeCredential({ keyId: 'unknown' }))
  await note('readPolicy', () => s.readPolicy())
  await note('previewAccess', () => s.previewAccess({ roles: ['clerk'], table: 'people', limit: 2, draft: { clerk: [] } }))
  await note('checkPolicy', () => s.checkPolicy({ roles: { clerk: ['ALLOW READ ON people.name', 'ALLOW'] } }))
  await note('checkPolicy by the clerk', () => clerk.checkPolicy({ roles: {} }))
  await note('perform', () => s.perform('getOne', { table: 'people', id: a.id }))
  await note('perform without a member', () => s.perform('getOne', { table: 'people' } as never))
  await note('deleteWhere', () => s.deleteWhere('people', { country: 'DE' }))
  await note('deleteOne', () => s.deleteOne('people', a.id))
  await note('deleteOne again', () => s.deleteOne('people', a.id))
  await note('delete of an unknown id', () => s.delete('people', [UNKNOWN, a.id]))
  await note('delete of all', () => s.delete('people', '*'))
  return ended
}

async function* streamOf(text: string): AsyncGenerator<Uint8Array> {
  for (const letter of text) yield new TextEncoder().encode(letter)
}

/** Returns a file with its bytes in place of its stream. */
async function opened(opening: ReturnType<CalledSession['openFile']>): Promise<unknown> {
  const { stream, ...rest } = await opening
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return { ...rest, text: Buffer.concat(chunks).toString() }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/
const TIME = /^\d{4}-\d\d-\d\dT.*Z$/

/** Members whose values are random, or times. */
const RANDOM: ReadonlySet<string> = new Set(['next', 'version', 'ticket', 'createdAt', 'expiresAt', 'revokedAt'])

/** Returns a function that replaces what is random: each id and token by its number, in the order in which they come. */
function createOutline(): (value: unknown) => unknown {
  const numbers = new Map<string, string>()
  const textOf = (text: string): string => {
    if (TIME.test(text) && !text.startsWith('2020')) return 'a time'
    if (!UUID.test(text) || text === UNKNOWN) return text
    const known = numbers.get(text) ?? `#${numbers.size}`
    numbers.set(text, known)
    return known
  }
  const membersOf = (value: object): unknown =>
    Object.fromEntries(
      Object.entries(value).flatMap(([name, member]) => {
        if (member === undefined) return []
        if (name === 'downloadTickets') return [[name, Object.keys(Object(member))]]
        return [[name, RANDOM.has(name) ? typeof member : visit(member)]]
      }),
    )
  const visit = (value: unknown): unknown => {
    if (typeof value === 'string') return textOf(value)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(visit)
    if (!(value instanceof Error)) return membersOf(value)
    if (!isVaultError(value)) return String(value)
    const { code, httpStatus, grpcCode, details, message } = value
    return { code, httpStatus, grpcCode, details: visit(details), message }
  }
  return visit
}
