/** Uses vaults in a CommonJS project under Jest, which can require no ES module. */
const { isVaultError, VaultError } = require('strongroom')
const { memoryStorage } = require('strongroom/memory')
const { sqliteStorage } = require('strongroom/sqlite')
const { useVault } = require('./use-vault.cjs')

test('a vault in memory', () => useVault(memoryStorage()))

test('a vault in a SQLite file', () => useVault(sqliteStorage({ filename: 'jest.db' })))

test('errors are recognized', () => {
  expect(isVaultError(new VaultError('not_found', 'Not there.'), 'not_found')).toBe(true)
})
