/** Alternative: a typical hand-rolled vault on SQLite, with a UUID key, one AES-GCM call per cell and one row per token. */
import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from 'node:crypto'
import type { Statement } from 'better-sqlite3'
import { at, required } from '../../src/core/util/lists.ts'
import { openSqlite, type Purpose } from '../baselines/open-sqlite.ts'
import { type Batch, COLUMNS, TOKENIZED } from '../fixtures/people.ts'

export interface HandRolledVault {
  /** Inserts the batch in one transaction. Returns the token of each record's ssn. */
  insert(batch: Batch): readonly string[]
  detokenize(tokens: readonly string[]): readonly string[]
  close(): void
}

const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Index of `ssn` in `TOKENIZED`. */
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
  const cells = new Map<string, Statement<[string], Buffer>>(
    TOKENIZED.map((name) => [name, connection.prepare<[string], Buffer>(`select ${name} from people where id = ?`).pluck()]),
  )
  const insertBatch = connection.transaction((batch: Batch): readonly string[] =>
    batch.map(({ fields }) => {
      const id = randomUUID()
      insertPerson.run(id, ...COLUMNS.map((name) => seal(key, fields[name], `${id}|${name}`)))
      const tokens = TOKENIZED.map((column) => {
        const token = randomUUID()
        insertToken.run(token, id, column)
        return token
      })
      return at(tokens, SSN)
    }),
  )
  return {
    insert: insertBatch,
    detokenize: (tokens) =>
      tokens.map((token) => {
        const { record, cell } = required(findToken.get(token), 'the row of a token')
        const sealed = required(cells.get(cell)?.get(record), 'the cell of a token')
        return open(key, sealed, `${record}|${cell}`)
      }),
    close: () => connection.close(),
  }
}

function seal(key: Buffer, text: string, associatedData: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(associatedData))
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

function open(key: Buffer, sealed: Buffer, associatedData: string): string {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES)).setAAD(Buffer.from(associatedData))
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString('utf8')
}
