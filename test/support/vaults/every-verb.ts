/** Every verb of a vault, to be called again and again beside others: each works on records of its own, so that alone it always ends in one way. */

import { createApiKey } from '../../../src/http/index.ts'
import { column, isVaultError, type Vault, VaultError } from '../../../src/index.ts'
import { asLoose, type LooseSession } from './open-untyped.ts'
import { CLERK, OWNER } from './test-vault.ts'

/** Two tables of the same columns: verbs meet in one table, and pass each other in two. */
const person = {
  name: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }),
  email: column.string({ unique: true, redaction: 'PLAIN_TEXT' }),
  code: column.string({ token: 'deterministic', redaction: 'PLAIN_TEXT' }),
  team: column.string({ searchable: true, redaction: 'PLAIN_TEXT' }),
  pin: column.string({ token: 'transient' }),
  scan: column.file({ redaction: 'PLAIN_TEXT' }),
}
export const VERB_TABLES = { people: person, friends: person }

/** Where one verb is called. */
export interface VerbScene {
  readonly vault: Vault
  /** One of the tables. */
  readonly table: string
  /** A text that no other verb has. */
  readonly mark: string
}

/** Prepares a verb, and returns its call. `turn` differs in each. Rejects if the call does not end as it does alone. */
export type Verb = (scene: VerbScene) => Promise<(turn: string) => Promise<unknown>>

/** A session with every method, as a JavaScript caller sees it. */
interface AnySession extends LooseSession {
  deleteWhere(table: string, where: object): Promise<unknown>
  listEvents(query: object): Promise<unknown>
  uploadFile(upload: object): Promise<{ id: string }>
  openFile(table: string, id: string, column: string): Promise<{ stream: AsyncIterable<unknown> }>
  deleteFile(table: string, id: string, column: string): Promise<unknown>
  fileStatus(table: string, id: string, column: string): Promise<unknown>
  listCredentials(): Promise<unknown>
}

const sessionOf = (vault: Pick<Vault, 'as'>, caller = OWNER): AnySession => asLoose(vault.as(caller)) as AnySession

const fieldsOf = (mark: string) => ({ name: `name ${mark}`, email: `${mark}@acme.example`, code: `code ${mark}`, team: mark })

const recordsOf = (mark: string, count: number) => Array.from({ length: count }, (_, n) => ({ fields: fieldsOf(`${mark}.${n}`) }))

/** Inserts one record. */
async function stored({ vault, table, mark }: VerbScene): Promise<{ id: string; token: string }> {
  const { records } = await sessionOf(vault).insert(table, [{ fields: fieldsOf(mark) }], { tokenization: true })
  return { id: records[0]?.id ?? '', token: records[0]?.tokens.name ?? '' }
}

/** Passes if a call is refused with this code, and its details name only this table or none. */
async function refused(code: string, table: string | undefined, call: Promise<unknown>): Promise<void> {
  const error = await call.then(
    () => new Error(`a call that ${code} refuses was answered`),
    (thrown: unknown) => thrown,
  )
  const isOwn = isVaultError(error) && error.details.every((detail) => detail.table === undefined || detail.table === table)
  if (!isVaultError(error) || error.code !== code || !isOwn) throw error
}

/** A verb that works on one stored record. */
const onRecord =
  (
    call: (session: AnySession, record: { id: string; token: string }, scene: VerbScene & { turn: string }) => Promise<unknown>,
  ): Verb =>
  async (scene) => {
    const record = await stored(scene)
    const session = sessionOf(scene.vault)
    return (turn) => call(session, record, { ...scene, turn })
  }

/** A verb that needs no record. */
const onTable =
  (call: (session: AnySession, scene: VerbScene & { own: string }) => Promise<unknown>): Verb =>
  async (scene) => {
    const session = sessionOf(scene.vault)
    return (turn) => call(session, { ...scene, own: `${scene.mark}.${turn}` })
  }

const CHANGED_MIND = new Error('changed my mind')

const fileOf = (text: string) => new TextEncoder().encode(text)

/** Every verb by its name. Names that say how it fails are of calls that fail alone too. */
export const EVERY_VERB: Readonly<Record<string, Verb>> = {
  insert: onTable((session, { table, own }) => session.insert(table, [{ fields: fieldsOf(own) }])),
  'insert of transient values': onTable((session, { table, own }) =>
    session.insert(table, [{ fields: { ...fieldsOf(own), pin: own } }], { tokenization: true }),
  ),
  insertOne: onTable((session, { table, own }) => session.insertOne(table, fieldsOf(own))),
  'insert of 40': onTable((session, { table, own }) => session.insert(table, recordsOf(own, 40))),
  'insert of a taken value': onRecord((session, _, { table, mark }) =>
    refused('conflict', table, session.insert(table, [{ fields: fieldsOf(mark) }])),
  ),
  'insert that ignores': onRecord((session, _, { table, mark, turn }) =>
    session.insert(table, [{ fields: fieldsOf(mark) }, { fields: fieldsOf(`${mark}.${turn}`) }], { onConflict: 'ignore' }),
  ),
  upsert: onRecord((session, _, { table, mark, turn }) =>
    session.insert(table, [{ fields: { ...fieldsOf(mark), name: turn } }, { fields: fieldsOf(`${mark}.${turn}`) }], {
      upsert: 'email',
    }),
  ),
  updateOne: onRecord((session, { id }, { table, turn }) => session.updateOne(table, id, { name: turn })),
  'updateOne of none': onTable((session, { table, mark }) =>
    refused('not_found', table, session.updateOne(table, '6c0f5b52-7b5e-4d07-9f0e-4a3f6f6f9f11', { name: mark })),
  ),
  update: onRecord((session, { id }, { table, turn }) => session.update(table, [{ id, fields: { name: turn } }])),
  updateWhere: onRecord((session, _, { table, mark, turn }) =>
    session.updateWhere(table, { email: [`${mark}@acme.example`] }, { name: turn }),
  ),
  delete: onTable(async (session, { table, own }) => {
    const { records } = await session.insert(table, recordsOf(own, 2))
    await session.delete(
      table,
      records.map(({ id }) => id),
    )
  }),
  deleteWhere: onTable(async (session, { table, own }) => {
    await session.insert(table, [{ fields: fieldsOf(own) }])
    await session.deleteWhere(table, { team: [own] })
  }),
  get: onRecord((session, { id }, { table }) => session.get(table, { ids: [id] })),
  'get by a value': onRecord((session, _, { table, mark }) => session.get(table, { where: { email: [`${mark}@acme.example`] } })),
  getOne: onRecord((session, { id }, { table }) => session.getOne(table, id)),
  'getOne of none': onTable((session, { table }) =>
    refused('not_found', table, session.getOne(table, '6c0f5b52-7b5e-4d07-9f0e-4a3f6f6f9f11')),
  ),
  'getOne without a grant': async (scene) => {
    const { id } = await stored(scene)
    const clerk = sessionOf(scene.vault, CLERK)
    return () => refused('forbidden', scene.table, clerk.getOne(scene.table, id))
  },
  detokenize: onRecord((session, { token }) => session.detokenize([{ token }])),
  'detokenize of none': onTable((session, { own }) => refused('not_found', undefined, session.detokenize([{ token: own }]))),
  tokenize: onRecord((session, _, { table, mark }) => session.tokenize([{ table, column: 'code', value: `code ${mark}` }])),
  getByTokens: onRecord((session, { token }) => session.getByTokens([token])),
  query: onRecord((session, _, { table, mark }) =>
    session.query(`SELECT name FROM ${table} WHERE email = '${mark}@acme.example'`),
  ),
  batch: onRecord((session, { id }, { table, mark, turn }) =>
    session.batch([
      { insert: table, fields: fieldsOf(`${mark}.${turn}`) },
      { update: table, id, fields: { name: turn } },
      { get: table, id },
    ]),
  ),
  'batch of inserts': onTable((session, { table, own }) =>
    session.batch(recordsOf(own, 3).map(({ fields }) => ({ insert: table, fields }))),
  ),
  'batch with a failing item': onRecord((session, { id }, { table, mark, turn }) =>
    session.batch(
      [
        { insert: table, fields: fieldsOf(mark) },
        { insert: table, fields: fieldsOf(`${mark}.${turn}`) },
        { delete: table, id: `${id}0` },
      ],
      { continueOnError: true },
    ),
  ),
  listEvents: onTable((session) => session.listEvents({ filterOps: { accountID: 'v1' }, limit: 5 })),
  uploadFile: onTable((session, { table, own }) => session.uploadFile({ table, column: 'scan', file: fileOf(own) })),
  'uploadFile in place of another': onRecord((session, { id }, { table, turn }) =>
    session.uploadFile({ table, id, column: 'scan', file: fileOf(turn) }),
  ),
  openFile: async (scene) => {
    const { id } = await stored(scene)
    const session = sessionOf(scene.vault)
    await session.uploadFile({ table: scene.table, id, column: 'scan', file: fileOf(scene.mark) })
    return async () => {
      const { stream } = await session.openFile(scene.table, id, 'scan')
      for await (const _ of stream);
    }
  },
  deleteFile: onTable(async (session, { table, own }) => {
    const { id } = await session.uploadFile({ table, column: 'scan', file: fileOf(own) })
    await session.deleteFile(table, id, 'scan')
  }),
  fileStatus: onRecord((session, { id }, { table }) => session.fileStatus(table, id, 'scan')),
  createApiKey: async ({ vault, mark }) => {
    const session = vault.as(OWNER)
    return (turn) => createApiKey(session, { name: `${mark} ${turn}`, roles: ['VAULT_VIEWER'] })
  },
  revokeCredential: async ({ vault, mark }) => {
    const session = vault.as(OWNER)
    return async (turn) => {
      const { keyId } = await createApiKey(session, { name: `${mark} ${turn}`, roles: ['VAULT_VIEWER'] })
      await session.revokeCredential({ keyId })
      if ((await vault.credentials.find(keyId))?.isValid !== false) throw new Error('a revoked credential is valid')
    }
  },
  listCredentials: onTable((session) => session.listCredentials()),
  spendOnce:
    async ({ vault, mark }) =>
    async (turn) => {
      if (!(await vault.credentials.spendOnce(`${mark} ${turn}`, Date.now() + 60_000))) throw new Error('it has served before')
    },
  recordRefusal:
    async ({ vault }) =>
    () =>
      vault.recordRefusal({ error: new VaultError('unauthenticated', 'Refused.') }),
  transaction:
    async ({ vault, table, mark }) =>
    (turn) =>
      vault.transaction(async (inner) => {
        const session = sessionOf(inner)
        const { records } = await session.insert(table, [{ fields: fieldsOf(`${mark}.${turn}`) }])
        await session.updateOne(table, records[0]?.id ?? '', { name: turn })
      }),
  'transaction that rolls back':
    async ({ vault, table, mark }) =>
    (turn) =>
      vault
        .transaction(async (inner) => {
          await sessionOf(inner).insert(table, [{ fields: fieldsOf(`${mark}.${turn}`) }])
          throw CHANGED_MIND
        })
        .catch((error: unknown) => {
          if (error !== CHANGED_MIND) throw error
        }),
  sweep:
    async ({ vault }) =>
    () =>
      vault.sweep(),
  verifyAudit:
    async ({ vault }) =>
    async () => {
      const { ok, firstFailure } = await vault.verifyAudit()
      if (!ok) throw new Error(`the trail fails: ${firstFailure?.reason}`)
    },
}
