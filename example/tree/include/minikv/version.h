#pragma once

// The release that the main branch is heading for.
#define MINIKV_MAJOR 1
#define MINIKV_MINOR 0
#define MINIKV_PATCH 0
