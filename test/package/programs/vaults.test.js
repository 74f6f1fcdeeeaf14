/** Uses vaults in a CommonJS project under Jest, which can require no ES module. */
const { mkdtempSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')
const { column, createVault, defineSchema, isVaultError, VaultError } = require('strongroom')
const { folderBlobs } = require('strongroom/blobs')
const { localKeys } = require('strongroom/keys')
const { memoryStorage } = require('strongroom/memory')
const { sqliteStorage } = require('strongroom/sqlite')
const { useVault } = require('./use-vault.cjs')

test('a vault in memory', () => useVault(memoryStorage()))

test('a vault in a SQLite file', () => useVault(sqliteStorage({ filename: 'jest.db' })))

test('errors are recognized', () => {
  expect(isVaultError(new VaultError('not_found', 'Not there.'), 'not_found')).toBe(true)
})

// Errors of Node have another class than errors of tests: what depends on their codes must not ask for the class.
test.each(['better-sqlite3', 'node:sqlite'])('a key file, a database of %s and a folder of blobs are created', async (driver) => {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-jest-'))
  const vault = await createVault({
    id: 'v1',
    schema: defineSchema({ people: { email: column.string({ unique: true }), note: column.file() } }),
    storage: sqliteStorage({ filename: join(folder, 'vault.db'), driver }),
    keys: localKeys({ file: join(folder, 'vault.key') }),
    blobs: folderBlobs({ directory: join(folder, 'blobs') }),
  })
  const session = vault.as({ actor: 'test', actorType: 'USER', roles: ['VAULT_OWNER'] })
  const { id } = await session.uploadFile({ table: 'people', column: 'note', file: new Blob(['TEST_SECRET']) })
  await session.deleteFile('people', id, 'note')
  const ann = { fields: { email: 'ann@acme.example' } }
  await expect(session.insert('people', [ann, ann])).rejects.toMatchObject({ code: 'conflict' })
  await vault.close()
})
