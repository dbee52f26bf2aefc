"""DeviceClasses, ResourceClaims and ResourceSlices (resource.k8s.io). ``family.py`` lists the kinds."""
