/** Peer: the usual hand-rolled vault, a UUID key, one cipher per cell and one row for each token. */
import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from 'node:crypto'
import { type Batch, COLUMNS, TOKENIZED } from '../people.ts'
import { openSqlite, type Purpose } from './open-sqlite.ts'

export interface HandRolledVault {
  /** One transaction. Answers the token of each record's ssn. */
  insert(batch: Batch): readonly string[]
  detokenize(tokens: readonly string[]): readonly string[]
  close(): void
}

const NONCE_BYTES = 12
const TAG_BYTES = 16
const SSN = 4

export function openHandRolledVault(filename: string, purpose: Purpose = 'measuring'): HandRolledVault {
  const connection = openSqlite(filename, purpose)
  const key = Buffer.alloc(32, 9)
  connection.exec(`
    create table if not exists people (id text primary key, name blob, email blob, phone blob, address blob, ssn blob, city blob);
    create table if not exists tokens (token text primary key, record text, cell text);
  `)
  const insertPerson = connection.prepare<(string | Buffer)[]>('insert into people values (?, ?, ?, ?, ?, ?, ?)')
  const insertToken = connection.prepare<[string, string, string]>('insert into tokens values (?, ?, ?)')
  const findToken = connection.prepare<[string], { record: string; cell: string }>(
    'select record, cell from tokens where token = ?',
  )
  const cells = new Map(
    TOKENIZED.map((name) => [
      name as string,
      connection.prepare<[string], Buffer>(`select ${name} from people where id = ?`).pluck(),
    ]),
  )
  const insertBatch = connection.transaction((batch: Batch): readonly string[] =>
    batch.map(({ fields }) => {
      const id = randomUUID()
      insertPerson.run(id, ...COLUMNS.map((name) => seal(key, fields[name], `${id}|${name}`)))
      const tokens = TOKENIZED.map(() => randomUUID())
      tokens.forEach((token, index) => {
        insertToken.run(token, id, TOKENIZED[index] ?? '')
      })
      return tokens[SSN] ?? ''
    }),
  )
  return {
    insert: insertBatch,
    detokenize: (tokens) =>
      tokens.map((token) => {
        const home = findToken.get(token)
        const sealed = home === undefined ? undefined : cells.get(home.cell)?.get(home.record)
        if (home === undefined || sealed === undefined) throw new Error('the peer asked for a token that is not there')
        return open(key, sealed, `${home.record}|${home.cell}`)
      }),
    close: () => connection.close(),
  }
}

function seal(key: Buffer, text: string, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

function open(key: Buffer, sealed: Buffer, context: string): string {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES)).setAAD(Buffer.from(context))
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString('utf8')
}
