/** The vault of the examples in the API description, served over a real socket. */
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import { LEGACY_TABLES } from '../../../src/http/index.ts'
import { EXAMPLE } from '../../../src/http/routes/examples.ts'
import { column, createVault, defineSchema, mask, type Vault } from '../../../src/index.ts'
import { OWNER, TEST_SECRET } from '../vaults/test-vault.ts'
import { type ServedVault, serveVault } from './serve-vault.ts'

/** A server of the example vault. */
export interface ServedExamples extends ServedVault {
  /** Returns text with the ids, tokens and tickets of the examples replaced by those of this vault. */
  toReal(text: string): string
  /** Returns text with those of this vault replaced by those of the examples. */
  toExample(text: string): string
}

const COLUMNS = {
  name: column.string({ token: 'random', mask: mask.keepFirst(1), redaction: 'MASKED' }),
  email: column.string({ unique: true, token: 'deterministic', redaction: 'PLAIN_TEXT' }),
  country: column.string({ encrypted: false, redaction: 'PLAIN_TEXT' }),
  photo: column.file({ allowedTypes: ['image/*'], redaction: 'PLAIN_TEXT' }),
}

/** A file that is detected as an image. */
export const EXAMPLE_FILE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
)

/** Serves a vault whose table of examples, or one of its legacy tables, has the records of the examples. The caller closes it. */
export async function serveExamples(table: string): Promise<ServedExamples> {
  const schema = defineSchema(Object.fromEntries([EXAMPLE.table, ...LEGACY_TABLES].map((name) => [name, COLUMNS])))
  const keys = localKeys({ key: TEST_SECRET })
  const id = EXAMPLE.vaultID
  const vault: Vault = await createVault({ id, accountId: id, schema, storage: memoryStorage(), keys })
  const texts = await fill(vault, table)
  const served = await serveVault({ vault })
  const toReal = (text: string): string => texts.reduce((result, [example, real]) => result.replaceAll(example, real), text)
  // Two events to list, so that a page of one is not the last.
  for (let count = 0; count < 2; count += 1) await served.ask('GET', `/v1/vaults/${id}/${table}/${toReal(EXAMPLE.id)}`)
  return {
    ...served,
    toReal,
    toExample: (text) => texts.reduce((result, [example, real]) => result.replaceAll(real, example), text),
  }
}

/** Stores the records of the examples, and returns their ids, tokens and tickets beside those of the examples. */
async function fill(vault: Vault, table: string): Promise<[example: string, real: string][]> {
  const session = vault.as(OWNER)
  const other = { name: 'Cy Ek', email: 'cy@acme.example', country: 'DE' }
  const { records } = await session.insert(table, [{ fields: EXAMPLE.fields }, { fields: other }], { tokenization: true })
  const [ann, cy] = records
  if (ann === undefined || cy === undefined) throw new Error('No records.')
  await session.perform('uploadFile', {
    ...{ table, column: 'photo', id: ann.id, fileName: EXAMPLE.photo.fileName },
    file: new Uint8Array(EXAMPLE_FILE),
  })
  const download = await session.perform('downloadTicket', { table, column: 'photo', id: ann.id })
  const { tickets } = await session.perform('uploadTicket', { table, columns: ['photo'], id: ann.id })
  return [
    [EXAMPLE.id, ann.id],
    [EXAMPLE.otherID, cy.id],
    [EXAMPLE.nameToken, String(Reflect.get(ann.tokens, 'name'))],
    [EXAMPLE.emailToken, String(Reflect.get(ann.tokens, 'email'))],
    [EXAMPLE.ticket, download.ticket],
    [EXAMPLE.uploadTicket, tickets.photo?.ticket ?? ''],
  ]
}
