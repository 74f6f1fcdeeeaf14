/** The OpenAPI document: valid for an independent validator, with examples that its own schemas accept. */
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, it } from 'vitest'
import { type JsonSchema, mapSchema } from '../../../src/http/description/json-schema.ts'
import type { OpenApiDocument } from '../../../src/http/description/openapi.ts'
import { createDocument } from '../../../src/http/description/openapi-document.ts'
import { parseOptions } from '../../../src/http/options.ts'
import { createRoutes } from '../../../src/http/routes/routes.ts'

const options = parseOptions({ vaults: [], authenticate: [] })
const document = createDocument(options, createRoutes(options))

/** A copy, because the validator replaces references. */
function copyOf(given: OpenApiDocument): Record<string, unknown> {
  return JSON.parse(JSON.stringify(given))
}

describe('the document', () => {
  it('is valid OpenAPI 3.1', async () => {
    expect(await new Validator().validate(copyOf(document))).toEqual({ valid: true })
  })

  it('is refused by the validator where it is not', async () => {
    const { info: _, ...rest } = copyOf(document)
    expect(await new Validator().validate(rest)).toMatchObject({ valid: false })
  })

  it('has one operation for each route, each with a name of its own', () => {
    const names = operations().map(({ operation }) => operation.operationId)
    expect(names).toHaveLength(createRoutes(options).length)
    expect(new Set(names).size).toBe(names.length)
  })

  it('declares every parameter of a path, and no other', () => {
    for (const { path, operation } of operations()) {
      const declared = operation.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`)
      expect(declared).toEqual([...path.matchAll(/\{\w+\}/g)].map(([name]) => name))
    }
  })

  it('refers to nothing that it does not have, and has nothing that nothing refers to', () => {
    const text = JSON.stringify(document)
    const used = new Set([...text.matchAll(/"#\/components\/(\w+)\/(\w+)"/g)].map(([, kind, name]) => `${kind}/${name}`))
    const { securitySchemes: _, ...components } = document.components
    const known = Object.entries(components).flatMap(([kind, members]) => Object.keys(members).map((name) => `${kind}/${name}`))
    expect([...used].sort()).toEqual(known.sort())
  })

  it('has the names that the host chose in every place', () => {
    const names = { id: 'rec_id', ids: 'rec_ids', fileId: 'recID' }
    const renamed = parseOptions({ vaults: [], authenticate: [], names })
    const text = JSON.stringify(createDocument(renamed, createRoutes(renamed)))
    expect(text).not.toMatch(/svc_?id/i)
    for (const name of Object.values(names)) expect(text).toContain(`"${name}"`)
  })

  it('has the legacy tables and the limits that the host chose', () => {
    const other = parseOptions({ vaults: [], authenticate: [], legacyTables: ['patients'], limits: { maxPageSize: 500 } })
    const { paths, 'x-limits': limits } = createDocument(other, createRoutes(other))
    expect(Object.keys(paths)).toContain('/v1/vaults/{vaultID}/patients')
    expect(Object.keys(paths)).not.toContain('/v1/vaults/{vaultID}/cards')
    expect(limits).toContainEqual(expect.objectContaining({ limit: 'Maximum page size', value: 500 }))
  })
})

describe('the examples', () => {
  const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }))
  const { schemas } = document.components
  ajv.addSchema({ $id: 'document', components: { schemas: Object.fromEntries(Object.entries(schemas).map(closed)) } })

  it('are valid for their schemas, and have no member that those lack', () => {
    let checked = 0
    for (const { operation } of operations()) {
      for (const { what, schema, example } of examplesOf(operation)) {
        const isValid = ajv.compile(inDocument(schema))
        expect(isValid(example), `${operation.operationId} ${what}: ${ajv.errorsText(isValid.errors)}`).toBe(true)
        checked += 1
      }
    }
    expect(checked).toBeGreaterThan(100)
  })

  it('are refused where they are not', () => {
    const isValid = ajv.compile(inDocument({ $ref: '#/components/schemas/FieldRecords' }))
    expect(isValid({ fields: 1 })).toBe(false)
    expect(isValid({ fields: {}, other: 1 })).toBe(false)
  })

  it('of errors are valid for the envelope', () => {
    const isValid = ajv.compile(inDocument({ $ref: '#/components/schemas/ErrorEnvelope' }))
    const responses = Object.values(document.components.responses)
    expect(responses).toHaveLength(5)
    for (const { content = {} } of responses)
      for (const { example } of Object.values(content)) expect(isValid(example), ajv.errorsText(isValid.errors)).toBe(true)
  })
})

function operations() {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.values(methods).map((operation) => ({ path, operation })),
  )
}

type Operation = ReturnType<typeof operations>[number]['operation']

/** Returns every example beside its schema. */
function examplesOf({ parameters, requestBody, responses }: Operation) {
  const bodies = [requestBody, ...Object.values(responses)].flatMap((body) =>
    body !== undefined && 'content' in body ? Object.values(body.content ?? {}) : [],
  )
  return [
    ...parameters.map(({ name, schema, example }) => ({ what: name, schema, example })),
    ...bodies.map(({ schema, example }) => ({ what: 'body', schema, example })),
  ].flatMap(({ what, schema, example }) =>
    schema === undefined || example === undefined ? [] : [{ what, schema: withoutMore(schema), example }],
  )
}

/** Returns a schema whose references lead into the document. */
function inDocument(schema: JsonSchema): JsonSchema {
  return mapSchema(schema, (part) => (part.$ref === undefined ? part : { ...part, $ref: `document${part.$ref}` }))
}

function closed([name, schema]: [string, JsonSchema]): [string, JsonSchema] {
  return [name, withoutMore(schema)]
}

/** Returns a schema that accepts no member that it does not name. */
function withoutMore(schema: JsonSchema): JsonSchema {
  return mapSchema(schema, (part) =>
    part.properties === undefined || part.additionalProperties !== undefined ? part : { ...part, additionalProperties: false },
  )
}
