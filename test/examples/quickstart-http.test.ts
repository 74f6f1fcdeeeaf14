/** The quickstart over HTTP prints each request with its response, and what the trail has of them. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { builtPackage } from '../support/cli/built-command.ts'

const ROOT = join(import.meta.dirname, '../..')
const UUID = /[\da-f]{8}-[\da-f]{4}-[48][\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g

/** Runs the example. Returns its output with one space in place of each line break and indentation, and without ids and tokens. */
function runExample(): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, [...builtPackage(), join(ROOT, 'examples/quickstart-http.ts')], {
    encoding: 'utf8',
    timeout: 200_000,
  })
  expect(status, stderr + stdout).toBe(0)
  return stdout
    .replace(/\s+/g, ' ')
    .replace(UUID, 'UUID')
    .replaceAll(/:\d{4,5}\b/g, ':PORT')
}

it('npm run quickstart:http says what it does', () => {
  const output = runExample()
  for (const text of [
    'POST /v1/vaults/quickstart/customers { "records": [{ "fields": { "name": "Ann Bell", "email": "ann@acme.example", "country": "SE" } }], "tokenization": true }',
    '200 { "records": [ { "svc_id": "UUID", "tokens": { "name": "UUID", "email": "UUID" } } ] }',
    '"name": "A*******", "email": "a***@acme.example", "country": "SE", "letter": null',
    '200 { "records": [{ "token": "UUID", "valueType": "STRING", "value": "Ann Bell" }] }',
    '200 { "records": [{ "token": "UUID", "valueType": "STRING", "value": "A*******" }] }',
    '"column": "email" }] } 200 { "records": [{ "token": "UUID" }] }',
    '"ID": "$responses.0.records.0.svc_id", "fields": { "country": "DK" }',
    '"responses": [ { "records": [{ "svc_id": "UUID" }] }, { "svc_id": "UUID" }, { "records": [{ "svc_id": "UUID" }] } ]',
    '200 { "records": [{ "fields": { "name": "B****", "email": "bo@acme.example" } }] }',
    '401 { "error": { "grpc_code": 16,',
    '"message": "Insert failed. Column \\"emial\\" of table \\"customers\\" is invalid. Specify a valid column."',
    '401 { "error": { "grpc_code": 7,',
    'file: letter.txt, 11358 bytes 200 { "svcID": "UUID" }',
    '"letter": "http://127.0.0.1:PORT/v1/files/quickstart/…"',
    '200 text/plain, 11358 bytes, attachment; filename="letter.txt" It has the bytes that were uploaded: yes.',
    'The change that support was refused is the first: Update failed.',
    'support DETOKENIZE 200',
    'unknown REQUEST 401',
    'support UPDATE 401',
    'billing LIST_EVENTS 200 The server is stopped.',
  ])
    expect(output).toContain(text)
})
