/** Work with a vault that uses every primitive of its keys, and what of it can be compared with the work of another process. */
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { localKeys } from '../../../../src/adapters/keys/index.ts'
import type { StorageHandle } from '../../../../src/core/ports/storage.ts'
import { column, createVault, defineSchema, type VaultOptions } from '../../../../src/index.ts'
import { SIGNING } from '../../../support/audit/sample-trails.ts'
import { OWNER, TEST_SECRET } from '../../../support/vaults/test-vault.ts'

const schema = defineSchema({
  cards: {
    holder: column.string({ redaction: 'PLAIN_TEXT', searchable: true, token: 'random' }),
    number: column.string({ redaction: 'PLAIN_TEXT', unique: true, token: 'deterministic' }),
    ssn: column.string({ redaction: 'PLAIN_TEXT', token: { kind: 'formatPreserving', format: 'ssn' } }),
    pin: column.string({ redaction: 'PLAIN_TEXT', token: { kind: 'deterministicFormatPreserving', format: 'digits' } }),
    cvv: column.string({ redaction: 'PLAIN_TEXT', token: { kind: 'transient', ttlMinutes: 30 } }),
    scan: column.file({ redaction: 'PLAIN_TEXT', maxBytes: 1_000_000 }),
  },
})

type Cryptography = NonNullable<VaultOptions<typeof schema.tables>['cryptography']>

function open(storage: StorageHandle, cryptography: Cryptography) {
  return createVault({ id: 'v1', schema, storage, keys: localKeys({ key: TEST_SECRET }), cryptography })
}

const FIELDS = { holder: 'Ann', number: '4111111111111111', ssn: '123-45-6789', pin: '12345678', cvv: '123' }
/** Longer than one piece of a content, and than what the module seals. */
const CONTENT = Buffer.alloc(150_000, 'content ')

/** What one process wrote, for another. */
export interface Written {
  readonly id: string
  readonly tokens: Readonly<Record<string, string>>
}

/** Founds a vault, writes records, tokens and a file, and replaces the key that sealed them. */
export async function write(storage: StorageHandle, cryptography: Cryptography): Promise<Written> {
  const vault = await open(storage, cryptography)
  const session = vault.as(OWNER)
  const others = Array.from({ length: 60 }, (_, i) => ({
    fields: { holder: `No ${i}`, number: `5${i}`, pin: `${20_000_000 + i}` },
  }))
  const { records } = await session.insert('cards', [{ fields: FIELDS }, ...others], { tokenization: true })
  const [first] = records
  if (first === undefined) throw new Error('nothing was inserted')
  await session.uploadFile({ table: 'cards', column: 'scan', id: first.id, file: Readable.from([CONTENT]), fileName: 'scan.txt' })
  await vault.rotateKeys({ settleMs: 0 })
  await vault.close()
  return { id: first.id, tokens: { ...first.tokens } }
}

/** Reads by id, value, token and query; writes again; and verifies the trail. Returns what it read, which is `EXPECTED`. */
export async function read(storage: StorageHandle, cryptography: Cryptography, { id, tokens }: Written) {
  const vault = await open(storage, cryptography)
  const session = vault.as(OWNER)
  const found = await session.query("SELECT number FROM cards WHERE holder = 'Ann'")
  const values = await session.detokenize(Object.values(tokens).map((token) => ({ token })))
  const content = await buffer(Readable.from((await session.openFile('cards', id, 'scan')).stream))
  const again = await session.insert('cards', [{ fields: { number: '5999', pin: FIELDS.pin } }], { tokenization: true })
  const taken = await session.insert('cards', [{ fields: { number: FIELDS.number } }]).catch((error: unknown) => error)
  const checkpoint = await vault.checkpointAudit({ signer: SIGNING.signer })
  const { ok } = await vault.verifyAudit({ checkpoints: [checkpoint] })
  const rows = await session.get('cards', { limit: 100 })
  await vault.close()
  return {
    holder: rows.records.find((row) => row.id === id)?.fields.holder,
    query: found.records.map(({ fields }) => fields),
    values: values.records.map(({ value }) => value),
    content: content.equals(CONTENT),
    isSamePin: again.records[0]?.tokens?.pin === tokens.pin,
    taken: String(Reflect.get(Object(taken), 'code')),
    rows: rows.records.length,
    verified: ok,
  }
}

/** What `read` returns for what `write` wrote. */
export const EXPECTED = {
  holder: 'Ann',
  query: [{ number: FIELDS.number }],
  values: Object.values(FIELDS),
  content: true,
  isSamePin: true,
  taken: 'conflict',
  rows: 62,
  verified: true,
}
