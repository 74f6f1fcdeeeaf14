/** A route as an operation of the API description. */
import type { RouterOptions } from '../options.ts'
import type { Route, RouteDescription, RouteExample } from '../router/route.ts'
import { errorReference, REQUEST_ID_REFERENCE } from './error-responses.ts'
import { type Components, toJsonSchema } from './json-schema.ts'
import type { OpenApiContent, OpenApiOperation, OpenApiParameter, OpenApiResponse } from './openapi.ts'

/** What a route is described with. */
interface Setting {
  readonly options: RouterOptions
  readonly components: Components
}

/** Returns the operation of a route. */
export function describeRoute(route: Route, setting: Setting): OpenApiOperation {
  const { group, summary, description, isDeprecated, isOwn, body, describedBody = body } = route
  return {
    operationId: operationIdOf(route),
    tags: [group],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(isDeprecated === true ? { deprecated: true as const } : {}),
    ...(isOwn === true ? { 'x-own': true as const } : {}),
    security: route.isPublic === true ? [] : [{ bearer: [] }],
    parameters: [...pathParameters(route), ...queryParameters(route, setting.components)],
    ...(describedBody === undefined ? {} : { requestBody: requestBodyOf(route, describedBody, setting) }),
    responses: responsesOf(route, setting.components),
  }
}

/** Returns the name of a route, or one made of its method and the fixed parts of its path. */
function operationIdOf({ name, method, path }: RouteDescription): string {
  if (name !== undefined) return name
  const words = path.split(/[/._-]/).filter((part) => /^\w+$/.test(part))
  return [method.toLowerCase(), ...words].map((word, index) => (index === 0 ? word : capitalized(word))).join('')
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

/** What the parameters of paths mean. */
const PARAMETERS: Readonly<Record<string, string>> = {
  vaultID: 'Id of the vault.',
  objectName: 'Name of the table.',
  tableName: 'Name of the table.',
  columnName: 'Name of the column.',
  ID: 'Id of the record.',
}

function pathParameters({ path, parameters = {}, example }: RouteDescription): OpenApiParameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: parameters[name] ?? PARAMETERS[name] ?? '',
    schema: { type: 'string' },
    ...optional('example', name === 'vaultID' ? EXAMPLE_VAULT : example?.params?.[name]),
  }))
}

/** The vault of all examples. */
const EXAMPLE_VAULT = 'acme'

function queryParameters({ query = {}, example }: RouteDescription, components: Components): OpenApiParameter[] {
  return Object.entries(query).map(([name, { description, schema: shape, isRequired = false }]) => {
    const schema = components.share(toJsonSchema(shape, 'input'))
    const texts = new URLSearchParams(example?.query).getAll(name)
    return {
      name,
      in: 'query',
      required: isRequired,
      description,
      schema,
      ...(texts.length === 0 ? {} : { example: exampleOf(schema.type, texts) }),
    }
  })
}

function exampleOf(type: unknown, texts: readonly string[]): unknown {
  if (type === 'array') return texts
  return type === 'boolean' ? texts[0] === 'true' : texts[0]
}

function requestBodyOf(
  { bodyType = 'application/json', example }: RouteDescription,
  shape: NonNullable<RouteDescription['body']>,
  { options, components }: Setting,
): NonNullable<OpenApiOperation['requestBody']> {
  const schema = components.share(toJsonSchema(shape, 'input'))
  return {
    required: !shape.safeParse(undefined).success,
    ...(bodyType === 'application/json' ? { description: `At most ${options.limits.maxBodyBytes} bytes.` } : {}),
    content: { [bodyType]: { schema, ...optional('example', example?.body) } },
  }
}

function responsesOf(route: RouteDescription, components: Components): OpenApiOperation['responses'] {
  const { response, responseType = 'application/json', otherResponses = {}, statuses, example } = route
  const success = (shape: typeof response, shown?: RouteExample['response']): OpenApiResponse => ({
    description: shape?.description ?? 'Success.',
    headers: REQUEST_ID_REFERENCE,
    content: contentOf(responseType, shape === undefined ? undefined : { shape, components }, shown),
  })
  return {
    200: success(response, example?.response),
    ...Object.fromEntries(Object.entries(otherResponses).map(([status, shape]) => [status, success(shape)])),
    ...Object.fromEntries(statuses.map((status) => [status, errorReference(status)])),
  }
}

function contentOf(
  type: string,
  described: { readonly shape: NonNullable<RouteDescription['response']>; readonly components: Components } | undefined,
  example: unknown,
): OpenApiContent {
  const schema = described === undefined ? undefined : described.components.share(toJsonSchema(described.shape, 'output'))
  return { [type]: { ...optional('schema', schema), ...optional('example', example) } }
}

function optional<Name extends string, T>(name: Name, value: T | undefined): { readonly [N in Name]?: T } {
  // Only undefined is left out.
  return (value === undefined ? {} : { [name]: value }) as { readonly [N in Name]?: T }
}
