/**
 * What the entry points do where the packages they need are not installed. Runs in a project that has this package and none of the
 * optional ones, and prints one line of JSON for each: the function, the code and the message of its error. It has no types, so that it
 * runs as JavaScript too.
 */
import { s3Blobs } from 'strongroom/blobs'
import { awsKmsKeys } from 'strongroom/keys/aws'
import { pkcs11Keys } from 'strongroom/keys/pkcs11'
import { openTelemetry } from 'strongroom/opentelemetry'
import { postgresStorage } from 'strongroom/postgres'
import { sqliteStorage } from 'strongroom/sqlite'

const USES = {
  sqliteStorage: () => sqliteStorage({ filename: 'never-created.db' }),
  postgresStorage: () => postgresStorage({ connectionString: 'postgres://127.0.0.1:1/none' }).prepare([]),
  s3Blobs: () => s3Blobs({ client: { send: async () => undefined }, bucket: 'none' }).delete(['a'.repeat(32)]),
  awsKmsKeys: () =>
    awsKmsKeys({ client: { send: async () => undefined }, keyId: 'none' }).wrap(new Uint8Array(32), new Uint8Array(32)),
  pkcs11Keys: () =>
    pkcs11Keys({ module: 'none.so', tokenLabel: 'none', pin: '0', keyLabel: 'none' }).wrap(
      new Uint8Array(32),
      new Uint8Array(32),
    ),
  openTelemetry: () => openTelemetry(),
}

for (const [name, use] of Object.entries(USES)) {
  try {
    await use()
    console.log(JSON.stringify({ name, code: 'none' }))
  } catch (error) {
    const { code, message } = Object(error)
    console.log(JSON.stringify({ name, code, message }))
  }
}
