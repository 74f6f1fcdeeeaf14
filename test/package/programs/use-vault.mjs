/** What every trial of the packed package does with a storage: store, read, query, upload, serve over HTTP, verify. Runs on any runtime. */
import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { column, createVault, defineSchema, mask } from 'strongroom'
import { verifyExport } from 'strongroom/audit-verifier'
import { isVaultError } from 'strongroom/errors'
import { apiKeys, createApiKey, createHandler, jwt } from 'strongroom/http'
import { localKeys } from 'strongroom/keys'

const TEST_KEY = randomBytes(32).toString('base64')
/** The smallest PNG: its type is detected from its first bytes. */
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const ISSUER = 'https://login.acme.example'

const schema = defineSchema({
  customers: {
    name: column.string({ redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
    email: column.string({ unique: true }),
    country: column.string({ encrypted: false, index: true, redaction: 'PLAIN_TEXT' }),
    picture: column.file({ allowedTypes: ['image/png'], redaction: 'PLAIN_TEXT' }),
  },
})

/** Opens a vault of this storage, uses every part of it, and closes it. Throws at the first result that is wrong. */
export async function useVault(storage) {
  const vault = await createVault({ id: 'v1', schema, storage, keys: localKeys({ key: TEST_KEY }) })
  const session = vault.as({ actor: 'trial', actorType: 'SERVICE_ACCOUNT', roles: ['VAULT_OWNER'] })
  const id = await storeAndRead(session)
  await uploadAndOpen(session, id)
  await serve(vault, session, id)
  const lines = await Array.fromAsync(vault.exportAudit())
  assert.equal((await verifyExport(lines)).ok, true)
  await vault.close()
}

async function storeAndRead(session) {
  const ann = { fields: { name: 'Ann', email: 'ann@acme.example', country: 'SE' } }
  const { records } = await session.insert('customers', [ann], { tokenization: true })
  const [{ id, tokens }] = records
  const read = await session.getOne('customers', id)
  assert.deepEqual(read.fields, { name: 'A**', email: '*REDACTED*', country: 'SE', picture: null })
  const values = await session.detokenize([{ token: tokens.name, redaction: 'PLAIN_TEXT' }])
  assert.equal(values.records[0].value, 'Ann')
  await assert.rejects(session.insert('customers', [ann]), (error) => isVaultError(error, 'conflict'))
  const found = await session.query("SELECT country FROM customers WHERE email = 'ann@acme.example'")
  assert.equal(found.records[0].fields.country, 'SE')
  return id
}

async function uploadAndOpen(session, id) {
  const place = { table: 'customers', column: 'picture', id }
  const { fileMetadata } = await session.uploadFile({ ...place, file: PICTURE, fileName: 'a.png', returnFileMetadata: true })
  assert.equal(fileMetadata.picture.fileType, 'image/png')
  await assert.rejects(session.uploadFile({ ...place, file: Buffer.from('plain text'), fileName: 'a.txt' }), isVaultError)
}

async function serve(vault, session, id) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const trusted = { issuer: ISSUER, audience: 'vault', algorithms: ['EdDSA'], keys: [publicKey], vaults: () => ['v1'] }
  const handler = createHandler({
    vaults: vault,
    authenticate: [apiKeys(), jwt({ issuers: [trusted], roles: () => ['VAULT_OWNER'] })],
  })
  const { apiKey } = await createApiKey(session, { name: 'trial', roles: ['VAULT_OWNER'] })
  for (const bearer of [apiKey, tokenOf(privateKey)]) {
    const call = (path, init = {}) =>
      handler(new Request(`http://vault.example${path}`, { ...init, headers: { authorization: `Bearer ${bearer}` } }))
    const listed = await call('/v1/vaults/v1/customers')
    assert.equal(listed.status, 200, await listed.clone().text())
    assert.match(await listed.text(), /SE/)
    const form = new FormData()
    form.set('tableName', 'customers')
    form.set('columnName', 'picture')
    form.set('svcID', id)
    form.set('file', new File([PICTURE], 'b.png'))
    const uploaded = await call('/v2/vaults/v1/files/upload', { method: 'POST', body: form })
    assert.equal(uploaded.status, 200, await uploaded.text())
  }
}

/** Returns a JWT as an identity provider signs it. */
function tokenOf(privateKey) {
  const claims = {
    iss: ISSUER,
    aud: 'vault',
    sub: 'ann',
    jti: 'token-1',
    exp: Math.floor(Date.now() / 1000) + 600,
    ctx: { id: 'case-1' },
  }
  const signed = [{ alg: 'EdDSA' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`
}
