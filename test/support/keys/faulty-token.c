/*
 * A PKCS#11 library that forwards to the one in FAULTY_TOKEN_LIBRARY, and fails where the search for a key begins. The file in FAULTY_TOKEN_FAULT has
 * the number of calls that fail and the kind; a byte is added to the file in FAULTY_TOKEN_CALLS with each call.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pkcs11.h"

#define HANG_SECONDS 5
#define SLOW_MICROSECONDS 100000

static void *library;
static CK_FUNCTION_LIST_PTR sound;
static CK_FUNCTION_LIST faulty;

static CK_RV fault(void) {
  char kind[16] = "";
  long left = 0;
  const char *path = getenv("FAULTY_TOKEN_FAULT");
  FILE *file = fopen(path, "r");
  if (file != NULL) {
    if (fscanf(file, "%ld %15s", &left, kind) != 2) left = 0;
    fclose(file);
  }
  if (left <= 0) return CKR_OK;
  file = fopen(path, "w");
  fprintf(file, "%ld %s", left - 1, kind);
  fclose(file);
  if (strcmp(kind, "slow") == 0) return usleep(SLOW_MICROSECONDS) == 0 ? CKR_OK : CKR_GENERAL_ERROR;
  if (strcmp(kind, "hanging") == 0) sleep(HANG_SECONDS);
  if (strcmp(kind, "throttled") == 0) return CKR_SESSION_COUNT;
  return strcmp(kind, "reset") == 0 ? CKR_DEVICE_REMOVED : CKR_DEVICE_ERROR;
}

static CK_RV findObjectsInit(CK_SESSION_HANDLE session, CK_ATTRIBUTE_PTR attributes, CK_ULONG count) {
  FILE *calls = fopen(getenv("FAULTY_TOKEN_CALLS"), "a");
  fputc('.', calls);
  fclose(calls);
  CK_RV result = fault();
  return result == CKR_OK ? sound->C_FindObjectsInit(session, attributes, count) : result;
}

CK_RV C_GetFunctionList(CK_FUNCTION_LIST_PTR_PTR list) {
  if (library == NULL) library = dlopen(getenv("FAULTY_TOKEN_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return CKR_GENERAL_ERROR;
  CK_C_GetFunctionList get = (CK_C_GetFunctionList)dlsym(library, "C_GetFunctionList");
  if (get(&sound) != CKR_OK) return CKR_GENERAL_ERROR;
  faulty = *sound;
  faulty.C_FindObjectsInit = findObjectsInit;
  *list = &faulty;
  return CKR_OK;
}

__attribute__((destructor)) static void closeLibrary(void) {
  if (library != NULL) dlclose(library);
}
