/** The statuses of errors. Source: specification, "Errors". */

/** The statuses of errors that the specification documents. */
export type ErrorStatus = 400 | 401 | 404 | 422 | 500

/** All of them, for requests without a route. */
export const ALL_STATUSES: readonly ErrorStatus[] = [400, 401, 404, 422, 500]

/** The reason phrases of RFC 9110. */
export const STATUS_TEXTS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  404: 'Not Found',
  422: 'Unprocessable Content',
  500: 'Internal Server Error',
} satisfies Record<ErrorStatus, string>
